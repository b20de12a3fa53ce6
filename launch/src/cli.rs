//! What can be said on the command line: one tree of commands, and nothing that acts.
//!
//! [`flags`] turns the flags of a session into a [`Config`](palpate_session::config::Config); `command`
//! does the work. Source: ours.

mod atlas;
mod detect;
mod fields;
pub mod flags;
mod rehearse;
mod replay;
mod trial;
mod tune;
mod volume;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

pub use atlas::AtlasArgs;
pub use detect::DetectArgs;
pub use fields::FieldArgs;
pub use flags::SessionArgs;
pub use rehearse::RehearseArgs;
pub use replay::ReplayArgs;
pub use trial::{MergeArgs, TrialAction, TrialArgs};
pub use tune::TuneArgs;
pub use volume::{BuildArgs, LabelArgs, SurfaceArgs};

use palpate_console::serve::Serving;
use palpate_study::bench::Part;

/// What the commands of later versions will do, so that nobody searches for them here.
const NOT_HERE: &str = "\
Without a command, palpate runs: `palpate` is `palpate run`.

Example:
  palpate --duration 20 --rtt-ms 200 --out runs/first

Exit status: 0 done and every check held; 1 done and a check did not hold; 2 bad usage or input;
3 the machine refused something that was demanded.

Not in this version: keys.";

/// Palpate: feel tissue through a network.
///
/// A handle, a robot and the network between them, coupled so that no delay, loss or jitter can
/// put energy into the hand; a twin of the tissue gives the force at once.
#[derive(Debug, Parser)]
#[command(
    name = "palpate",
    version,
    after_help = NOT_HERE,
    after_long_help = NOT_HERE,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    max_term_width = 100
)]
pub struct Cli {
    /// What to do; `run` if nothing is said.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Flags of `run`, when no command is named.
    #[command(flatten)]
    pub run: RunArgs,
}

impl Cli {
    /// The command, `run` if none is named.
    #[must_use]
    pub fn into_command(self) -> Command {
        self.command.unwrap_or(Command::Run(self.run))
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Palpate live: both sides as processes, with an impaired network between them
    #[command(after_help = "Example:\n  palpate run --duration 20 --rtt-ms 200 --mode wave")]
    Run(RunArgs),
    /// The operator's side alone, on its own host
    #[command(after_help = "Example (the slave listens on 192.0.2.7):\n  \
        palpate master --connect udp/192.0.2.7:7447,tcp/192.0.2.7:7448")]
    Master(SideArgs),
    /// The remote side alone, on its own host
    #[command(after_help = "Example:\n  \
        palpate slave --listen udp/0.0.0.0:7447,tcp/0.0.0.0:7448")]
    Slave(SideArgs),
    /// The same session in virtual time: as fast as the CPU goes, bit-exact for a seed
    #[command(after_help = "Example:\n  \
        palpate lab --mode wave --rtt-ms 500 --seed 7 --out runs/wave-500")]
    Lab(LabArgs),
    /// Offline on the twin alone: by hand on a page, or by a script that is judged; no slave, no network
    #[command(
        after_help = "Example:\n  palpate rehearse --script biopsy --out runs/biopsy\n\
        \nWrites summary.json, report.html, surface.ply, recording.mcap and config.toml. Exit status: 1 if a \
        post-condition does not hold."
    )]
    Rehearse(RehearseArgs),
    /// Many sessions, in virtual time or live: a grid or list of conditions, seeds, all cores, in shards
    #[command(after_help = "Examples:\n  \
        palpate trial trials/delay-and-mode.toml --out runs/delays\n  \
        palpate trial trials/delay-and-mode.toml --shard 2/8 --out runs/part-2\n  \
        palpate trial trials/delay-and-mode.toml --loss 0.05 --seed 7 --json\n  \
        palpate trial merge runs/part-1 runs/part-2 --out runs/whole\n\
        \nThe same command with the same --out goes on where it was ended. Writes trials.csv, \
        trials.parquet and report.html.")]
    Trial(Box<TrialArgs>),
    /// Measure the link and propose wave impedance, codec and mode, with reasons
    #[command(
        after_help = "Examples:\n  palpate tune --connect udp/192.0.2.7:7447,tcp/192.0.2.7:7448\n  \
        palpate tune --rtt-ms 120 --jitter-ms 4 --loss 0.01 --stiffness 500 --json\n  \
        palpate tune --rtt-ms 120 --atlas runs/atlas"
    )]
    Tune(Box<TuneArgs>),
    /// A recorded session again: bit by bit, or the same hand under other circumstances
    #[command(after_help = "Examples:\n  palpate replay runs/first\n  \
        palpate replay runs/first --what-if rtt-ms=500 mode=wave --out runs/first-at-500\n  \
        palpate replay runs/first --console\n  \
        palpate replay runs/first runs/second --console\n  \
        palpate replay runs --console --foxglove\n\n\
        --config, --set and --seed say what the recorded hand meets instead, as --what-if does.\n\
        \nExit status: 0 only if the port traces are bit-identical, 1 if not, 2 if the recording cannot \
        be run again. With --console: 0 on Ctrl-C, 2 if it cannot be read.")]
    Replay(ReplayArgs),
    /// Stiffness of layers and lumps from recordings, with uncertainty and what they cannot tell
    #[command(after_help = "Example:\n  \
        palpate identify runs/first --twin layered --out runs/first-tissue")]
    Identify(IdentifyArgs),
    /// Stability and transparency over delay, jitter, impedance, stiffness, period and grip, found in up to four ways
    #[command(after_help = "Examples:\n  palpate atlas --out runs/atlas\n  \
        palpate atlas --set charts=line --set oneway_ms=[20,200] --set wall_npm=500 --json\n\
        \nIn JSON a limit is a number, \"unbounded\" if none was found, or null if it is unknown. Writes atlas.csv and \
        report.html. Exit 1 if the ways do not agree.")]
    Atlas(AtlasArgs),
    /// Measure this machine: a tick's cost, timer jitter, bus latency beside a raw socket, tissue
    #[command(after_help = "Examples:\n  palpate bench --out runs/bench\n  \
        palpate bench --only tissue --json\n\n\
        --config, --set and --seed are heeded by the part ticks, which runs a session.")]
    Bench(BenchArgs),
    /// What this machine allows, and the command that mends what it does not
    #[command(after_help = "Example:\n  palpate doctor --json")]
    Doctor(DoctorArgs),
    /// Build, inspect, check, convert and drape tissue models, meshes and volumes; study which lumps can be felt
    #[command(after_help = "Example:\n  palpate model inspect regular")]
    Model {
        /// Accepted as everywhere: all that is known of a model is shown anyway
        #[arg(short, long, global = true)]
        verbose: bool,
        /// What to do with the model.
        #[command(subcommand)]
        action: ModelAction,
    },
    /// The process that `bench` starts to answer it
    #[command(
        name = "bench-echo",
        hide = true,
        after_help = "Example: started by palpate bench"
    )]
    BenchEcho(EchoPorts),
    /// The process whose start `bench` times
    #[command(
        name = "bench-start",
        hide = true,
        after_help = "Example: started by palpate bench"
    )]
    BenchStart(CacheFolder),
}

/// Where the process that `bench` times finds the table of its twin.
#[derive(Debug, Clone, Args)]
pub struct CacheFolder {
    /// Folder of the cache
    pub folder: PathBuf,
}

/// Where the process that `bench` starts is to listen.
#[derive(Debug, Clone, Copy, Args)]
pub struct EchoPorts {
    /// UDP port of the session
    pub udp: u16,
    /// TCP port of the session
    pub tcp: u16,
}

/// Flags of `palpate run`.
#[derive(Debug, Clone, Args)]
pub struct RunArgs {
    /// What the session is.
    #[command(flatten)]
    pub session: SessionArgs,
    /// Where the results go, and what is shown.
    #[command(flatten)]
    pub output: OutputArgs,
    /// The page that shows it.
    #[command(flatten)]
    pub console: ConsoleArgs,
}

/// Flags of the page in a browser.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Console")]
pub struct ConsoleArgs {
    /// Serve no console page; a slave has none of its own
    #[arg(long)]
    pub no_console: bool,
    /// Port of the console on 127.0.0.1; the next free one if it is taken [default: 7780]
    #[arg(long, value_name = "PORT")]
    pub console_port: Option<u16>,
    /// Viewers of Foxglove's protocol.
    #[command(flatten)]
    pub foxglove: FoxgloveArgs,
}

impl ConsoleArgs {
    /// Whether and where a page is served.
    #[must_use]
    pub fn serving(&self) -> Serving {
        Serving {
            none: self.no_console,
            port: self.console_port,
            foxglove: self.foxglove.foxglove,
        }
    }
}

/// Whether viewers that speak Foxglove's WebSocket protocol are served.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct FoxgloveArgs {
    /// Serve what the console shows to Foxglove as well, on 127.0.0.1 [default port: 8765]; whoever is on this host
    /// may look there, and change nothing
    #[arg(long, value_name = "PORT", num_args = 0..=1, default_missing_value = "8765")]
    pub foxglove: Option<u16>,
}

/// Flags of `palpate lab`.
#[derive(Debug, Clone, Args)]
pub struct LabArgs {
    /// What the session is.
    #[command(flatten)]
    pub session: SessionArgs,
    /// Where the results go, and what is shown.
    #[command(flatten)]
    pub output: OutputArgs,
    /// Write no recording.mcap
    #[arg(long)]
    pub no_recording: bool,
}

/// Flags of `palpate master` and `palpate slave`.
#[derive(Debug, Clone, Args)]
pub struct SideArgs {
    /// What the session is; both sides need the same.
    #[command(flatten)]
    pub session: SessionArgs,
    /// Where the results go, and what is shown.
    #[command(flatten)]
    pub output: OutputArgs,
    /// Endpoints of the other side to dial, zenoh style: the UDP one, then the TCP one
    #[arg(
        long,
        value_name = "ENDPOINT",
        value_delimiter = ',',
        conflicts_with = "listen"
    )]
    pub connect: Vec<String>,
    /// Endpoints to wait at, zenoh style: the UDP one, then the TCP one [default: listen at
    /// network.port and the next on this host (slave), dial them (master)]
    #[arg(long, value_name = "ENDPOINT", value_delimiter = ',')]
    pub listen: Vec<String>,
    /// Run until told to stop, whatever the duration
    #[arg(long)]
    pub until_stopped: bool,
    /// Write the newest record as a line of JSON on stdout, five times a second
    #[arg(long)]
    pub status_lines: bool,
    /// The page that shows it; the master has one unless it was started by a supervisor.
    #[command(flatten)]
    pub console: ConsoleArgs,
    /// The standard input is a line to the console of whoever started this
    #[arg(long, hide = true)]
    pub console_on_stdin: bool,
}

/// Flags of `palpate identify`.
#[derive(Debug, Clone, Args)]
pub struct IdentifyArgs {
    /// Recordings: folders of runs, or .mcap files; several count as one record, in this order
    #[arg(required = true, value_name = "REC")]
    pub recordings: Vec<PathBuf>,
    /// Scene to begin with, a built-in one or a file: its layers, lumps and mesh stay, its
    /// stiffnesses are fitted, and a lump that it lacks is added if the touches tell of one
    /// [default: the twin of the first recording]
    #[arg(long, value_name = "SCENE")]
    pub twin: Option<String>,
    /// Length to use of each recording, from just before its first contact, in seconds
    #[arg(long, value_name = "S", default_value_t = 30.0, value_parser = seconds,
        allow_negative_numbers = true)]
    pub seconds: f64,
    /// Folder for tissue.toml, report.html and identify.json (default: `runs/<time>-identify`)
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print identify.json on stdout, and nothing else there
    #[arg(long)]
    pub json: bool,
    /// Show no progress and no table
    #[arg(short, long)]
    pub quiet: bool,
    /// Show every check of what was found as well
    #[arg(short, long)]
    pub verbose: bool,
    /// The configuration that the recordings were made with, and its tool, instead of that of the first; nothing is
    /// random here.
    #[command(flatten)]
    pub fields: FieldArgs,
}

fn seconds(text: &str) -> Result<f64, String> {
    flags::number(text, 0.1, 60.0, "0.1 to 60 s")
}

/// Flags of `palpate bench`.
#[derive(Debug, Clone, Args)]
pub struct BenchArgs {
    /// Folder for bench.json, and report.html of linked volumes (default: `runs/<time>-bench`)
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Measure only these parts, separated by commas [default: all]
    #[arg(long, value_enum, value_name = "PART", value_delimiter = ',')]
    pub only: Vec<Part>,
    /// Exit with 1 if this machine misses a goal; else that is only said
    #[arg(long)]
    pub strict: bool,
    /// Print bench.json on stdout, and nothing else there
    #[arg(long)]
    pub json: bool,
    /// Show no progress
    #[arg(short, long)]
    pub quiet: bool,
    /// Show every goal as well, and whether it is met
    #[arg(short, long)]
    pub verbose: bool,
    /// The session whose ticks are measured by the part `ticks`; the other parts measure the machine.
    #[command(flatten)]
    pub fields: FieldArgs,
}

/// Flags of `palpate doctor`.
#[derive(Debug, Clone, Args)]
pub struct DoctorArgs {
    /// Print the findings as JSON
    #[arg(long)]
    pub json: bool,
    /// Accepted as everywhere: the findings are all shown anyway
    #[arg(short, long)]
    pub verbose: bool,
}

/// Flags that every command with results has.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// Folder for the results (default: `runs/<time>-<name>`)
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print the summary as JSON on stdout, and nothing else there
    #[arg(long)]
    pub json: bool,
    /// Show no progress and no table
    #[arg(short, long)]
    pub quiet: bool,
    /// Show more: what limits and guards did and why ticks were late; all metrics of a trial; all points of an
    /// atlas
    #[arg(short, long)]
    pub verbose: bool,
}

/// What `palpate model` can do. A model is a .fem file, whose .plg file of the same stem gives
/// the faces, one of the built-in data sets `printed` and `regular`, a mesh or a volume of another program, or a
/// scene: a built-in one by its name, or a .toml file.
#[derive(Debug, Subcommand)]
pub enum ModelAction {
    /// Count, measure and describe a model
    #[command(
        after_help = "Examples:\n  palpate model inspect regular --units inch\n  \
        palpate model inspect liver.msh --units mm\n  \
        palpate model inspect layered\n  palpate model inspect labels.nrrd"
    )]
    Inspect {
        /// Model: a file (.fem, .plg, .msh, .vtu, .obj, .stl, .ply, .nrrd, .nii, .nii.gz, or a scene in .toml), a
        /// folder with a DICOM series, `printed`, `regular`, or a built-in scene
        model: String,
        /// What the file counts in
        #[command(flatten)]
        units: UnitArgs,
    },
    /// Check a model: exit 1 if it is unfit to simulate
    #[command(after_help = "Examples:\n  palpate model validate patch.fem\n  \
        palpate model validate liver.msh --units mm")]
    Validate {
        /// Model: a file (.fem, .plg, .msh, .vtu, .obj, .stl, .ply, .nrrd, .nii, .nii.gz, or a scene in .toml), a
        /// folder with a DICOM series, `printed`, `regular`, or a built-in scene
        model: String,
        /// What the file counts in
        #[command(flatten)]
        units: UnitArgs,
    },
    /// Write a lattice as .fem and .plg, a mesh as .vtu, the outside of either as .ply or .obj, a volume as .nrrd,
    /// and linked volumes as any of these, in colours
    #[command(after_help = "Examples:\n  \
        palpate model convert regular patch.fem --units inch --to-units si\n  \
        palpate model convert liver.msh liver.vtu --units mm\n  \
        palpate model convert layered-lump layers.vtu --to-units mm\n  \
        palpate model convert limb half.ply --clip y=0\n  \
        palpate model convert scan.nii.gz tissues.vtu --bands 0.2..0.6,0.6.. --spacing-mm 2")]
    Convert {
        /// Model: a file (.fem, .plg, .msh, .vtu, .obj, .stl, .ply, .nrrd, .nii, .nii.gz, or a scene in .toml), a
        /// folder with a DICOM series, `printed`, `regular`, or a built-in scene
        model: String,
        /// File to write: .fem, with the faces beside it as .plg, or .vtu, .ply, .obj or .nrrd
        target: PathBuf,
        /// What the file counts in
        #[command(flatten)]
        units: UnitArgs,
        /// What the written file counts in [default: as --units]
        #[arg(long, value_enum, value_name = "UNITS")]
        to_units: Option<UnitName>,
        /// How labels come from a volume
        #[command(flatten)]
        labels: LabelArgs,
        /// What of a linked volume is written
        #[command(flatten)]
        shape: SurfaceArgs,
    },
    /// Build a scene of linked elements from a volume, or from the synthetic layered phantom
    #[command(
        after_help = "Examples:\n  palpate model build --seed 7 --out runs/limb\n  \
        palpate model build labels.nrrd --spacing-mm 2 --out runs/own\n  \
        palpate model build scan.nii.gz --bands 0.2..0.6,0.6.. --up -y\n  \
        palpate lab --tissue runs/limb/scene.toml --twin runs/limb/scene.toml\n\
        \nWrites labels.nrrd, scene.toml with a material for each label to edit, and report.html; of the phantom \
        also intensity.nrrd."
    )]
    Build(BuildArgs),
    /// Condense a block scene into the table that a late tick asks, and keep it in the cache
    #[command(after_help = "Example:\n  palpate model condense layered\n\
        \nSessions use the table if it is there; without it a late tick goes on with the last stiffness.")]
    Condense {
        /// Scene: a built-in one with layers, or a scene file
        scene: String,
        /// Make it even if it is there
        #[arg(long)]
        anew: bool,
    },
    /// Which lumps of a block scene can be felt: sweep depth, radius and contrast, and press
    #[command(
        after_help = "Examples:\n  palpate model detect block-nodule --noise 0.02\n  \
        palpate model detect layered-lump --press-mm 4 --contrasts 10,30 --out runs/lumps\n\
        \nWrites detect.csv, mixing.csv and report.html. The default grid takes some minutes."
    )]
    Detect(DetectArgs),
    /// Drape a flat model over a sphere and write the curved one
    #[command(after_help = "Example:\n  palpate model drape regular dome.fem --radius 6")]
    Drape {
        /// Model: a .fem file, or `printed`, or `regular`
        model: String,
        /// File to write, .fem; the faces go beside it as .plg
        target: PathBuf,
        /// Radius of the sphere, in the units of the file
        #[arg(long, default_value_t = 6.0, allow_negative_numbers = true)]
        radius: f64,
    },
}

/// In which units a model file counts.
#[derive(Debug, Clone, Copy, Args)]
pub struct UnitArgs {
    /// What the file counts in: the format does not say
    #[arg(long, value_enum, value_name = "UNITS", default_value_t = UnitName::Si)]
    pub units: UnitName,
}

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

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_tree_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn no_command_means_run() {
        let cli = Cli::try_parse_from(["palpate", "--duration", "6"]).expect("flags of run");
        let Command::Run(run) = cli.into_command() else {
            panic!("not run");
        };
        assert_eq!(run.session.duration, Some(6.0));
        let lab = Cli::try_parse_from(["palpate", "lab", "--seed", "3"]).expect("lab");
        assert!(matches!(lab.into_command(), Command::Lab(_)));
    }

    #[test]
    fn a_round_trip_beside_one_way_delays_is_refused_by_both_names() {
        let arguments = ["palpate", "lab", "--rtt-ms", "100", "--oneway-ms-fwd", "20"];
        let error = Cli::try_parse_from(arguments)
            .expect_err("conflict")
            .to_string();
        assert!(
            error.contains("--rtt-ms") && error.contains("--oneway-ms-fwd"),
            "{error}"
        );
    }

    #[test]
    fn every_command_shows_an_example() {
        fn check(command: &clap::Command) {
            let help = command
                .get_after_help()
                .map(ToString::to_string)
                .unwrap_or_default();
            assert!(
                help.contains("Example"),
                "{} has no example",
                command.get_name()
            );
            command.get_subcommands().for_each(check);
        }
        check(&Cli::command());
    }
}
