//! Units of model files, whose formats state none. Source: ours.

/// Units of a model file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum UnitName {
    /// metres and newtons
    Si,
    /// millimetres and newtons
    Mm,
    /// centimetres and newtons
    Cm,
    /// inches and newtons, the likely meaning of the original data set
    Inch,
}

impl UnitName {
    /// Name in flags and in the names of lattice files.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Si => "si",
            Self::Mm => "mm",
            Self::Cm => "cm",
            Self::Inch => "inch",
        }
    }

    /// Name of a scene with these units, `FILE.fem:UNITS`, if it is a lattice file without units; else its name.
    pub(crate) fn of_file(self, scene: &str) -> String {
        match scene.ends_with(".fem") || scene.ends_with(".plg") {
            true => format!("{scene}:{}", self.name()),
            false => scene.to_owned(),
        }
    }
}
