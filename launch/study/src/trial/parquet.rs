//! Results as Parquet, for programs that do not read text.
//!
//! Source: crate `parquet` without arrow; one row group, no compression, so that any reader can.
//! Numbers are DOUBLE and OPTIONAL, whole numbers INT64, texts UTF8.

use std::io::Write;
use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

use super::table::{Column, Entry};

/// Writes the table.
///
/// # Errors
/// [`ParquetError`] if `out` fails.
pub(crate) fn write(columns: &[Column], out: impl Write + Send) -> Result<(), ParquetError> {
    let fields = columns.iter().map(schema_type).collect::<Result<_, _>>()?;
    let schema = Type::group_type_builder("trials")
        .with_fields(fields)
        .build()?;
    let properties = Arc::new(WriterProperties::builder().build());
    let mut writer = SerializedFileWriter::new(out, Arc::new(schema), properties)?;
    let mut group = writer.next_row_group()?;
    for column in columns {
        let entries = &column.entries;
        match entries.first() {
            Some(Entry::Whole(_)) => {
                write_column::<Int64Type>(&mut group, entries, |entry| match entry {
                    Entry::Whole(whole) => i64::try_from(*whole).ok(),
                    _ => None,
                })?
            }
            Some(Entry::Text(_)) => {
                write_column::<ByteArrayType>(&mut group, entries, |entry| match entry {
                    Entry::Text(text) => text.as_deref().map(ByteArray::from),
                    _ => None,
                })?
            }
            _ => write_column::<DoubleType>(&mut group, entries, |entry| match entry {
                Entry::Number(number) => *number,
                _ => None,
            })?,
        }
    }
    group.close()?;
    writer.close()?;
    Ok(())
}

fn schema_type(column: &Column) -> Result<Arc<Type>, ParquetError> {
    let (physical, logical) = match column.entries.first() {
        Some(Entry::Whole(_)) => (Physical::INT64, None),
        Some(Entry::Text(_)) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        _ => (Physical::DOUBLE, None),
    };
    let built = Type::primitive_type_builder(&column.name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical)
        .build()?;
    Ok(Arc::new(built))
}

fn write_column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, impl Write + Send>,
    entries: &[Entry],
    of: impl Fn(&Entry) -> Option<T::T>,
) -> Result<(), ParquetError> {
    let found: Vec<Option<T::T>> = entries.iter().map(of).collect();
    let levels: Vec<i16> = found.iter().map(|one| i16::from(one.is_some())).collect();
    let present: Vec<T::T> = found.into_iter().flatten().collect();
    if let Some(mut column) = group.next_column()? {
        column
            .typed::<T>()
            .write_batch(&present, Some(&levels), None)?;
        column.close()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader as _, SerializedFileReader};
    use parquet::record::RowAccessor as _;

    use super::*;

    #[test]
    fn written_table_is_read_back() {
        let columns = super::super::table::tests::example();
        let mut file = tempfile::tempfile().expect("a file");
        write(&columns, &mut file).expect("written");
        let reader = SerializedFileReader::new(file).expect("a Parquet file");
        let rows: Vec<_> = reader
            .get_row_iter(None)
            .expect("rows")
            .map(|row| row.expect("a row"))
            .collect();
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[1].get_long(0).expect("a row"), 2);
        assert_eq!(rows[0].get_string(5).expect("a text"), "wave");
        assert_eq!(rows[0].get_double(7).expect("a number"), 0.1);
        assert!(rows[0].get_double(8).is_err(), "unknown is not a number");
    }
}
