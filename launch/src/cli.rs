//! Command line: the tree of commands and their flags, without actions.
//!
//! [`session_flags`] turns the flags of a session into a [`Config`](palpate_session::config::Config); `command`
//! runs the commands. Source: ours.

mod atlas;
mod config_flags;
mod detect;
mod keys;
mod press;
mod recover;
mod rehearse;
mod replay;
pub mod session_flags;
mod trial;
mod tune;
mod units;
mod volume;

use std::path::{Path, PathBuf};

use clap::{Args, Parser, Subcommand};

pub use atlas::AtlasArgs;
pub use config_flags::ConfigArgs;
pub use detect::DetectArgs;
pub use keys::{KeysAction, PermittedSide, SecurityArgs};
pub use press::{PressArgs, PressReference};
pub use recover::RecoverArgs;
pub use rehearse::RehearseArgs;
pub use replay::ReplayArgs;
pub use session_flags::SessionArgs;
pub use trial::{MergeArgs, TrialAction, TrialArgs};
pub use tune::TuneArgs;
pub use units::UnitName;
pub use volume::{BuildArgs, LabelArgs, SurfaceArgs};

use palpate_analysis::output::ChosenFolder;
use palpate_console::serve::ServeOptions;
use palpate_study::bench::{BenchPart, EchoArgs};

/// Text after the help: default command and exit status.
const AFTER_HELP: &str = "\
Without a command, palpate runs: `palpate` is `palpate run`.

Example:
  palpate --duration 20 --rtt-ms 200 --out runs/first

Exit status: 0 success, every check passed; 1 a check failed; 2 bad usage or input;
3 the machine or the other side refused.";

/// Palpate: feel tissue through a network.
///
/// A handle, a robot and the network between them. In every mode but direct and iss, the channel gives
/// out no more energy than it took in. A twin of the tissue computes the force without the delay.
#[derive(Debug, Parser)]
#[command(
    name = "palpate",
    version,
    after_help = AFTER_HELP,
    after_long_help = AFTER_HELP,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    max_term_width = 100
)]
pub struct Cli {
    /// Command; `run` by default.
    #[command(subcommand)]
    pub command: Option<CliCommand>,
    /// Flags of `run`, when no command is named.
    #[command(flatten)]
    pub run: RunArgs,
}

impl Cli {
    /// Returns the command, `run` if none is named.
    #[must_use]
    pub fn into_command(self) -> CliCommand {
        self.command.unwrap_or(CliCommand::Run(self.run))
    }
}

/// Commands of `palpate`.
#[derive(Debug, Subcommand)]
pub enum CliCommand {
    /// Palpate live: both sides as processes, with an impaired network between them
    #[command(after_help = "Example:\n  palpate run --duration 20 --rtt-ms 200 --mode wave")]
    Run(RunArgs),
    /// The operator's side alone, on its own host
    #[command(after_help = "Example (the slave listens on 192.0.2.7):\n  \
        palpate master --secure keys --connect udp/192.0.2.7:7447,tls/192.0.2.7:7448")]
    Master(SideArgs),
    /// The remote side alone, on its own host
    #[command(after_help = "Example:\n  \
        palpate slave --secure keys --listen udp/0.0.0.0:7447,tls/0.0.0.0:7448")]
    Slave(SideArgs),
    /// The same session in virtual time: as fast as the CPU goes, bit-exact for a seed
    #[command(after_help = "Example:\n  \
        palpate lab --mode wave --rtt-ms 500 --seed 7 --out runs/wave-500")]
    Lab(LabArgs),
    /// Offline on the twin alone: by hand on a page, or by a script that is checked; no slave, no network
    #[command(
        after_help = "Example:\n  palpate rehearse --script biopsy --out runs/biopsy\n\
        \nWrites summary.json, report.html, surface.ply, recording.mcap and config.toml. Exit status: 1 if a \
        post-condition does not hold."
    )]
    Rehearse(RehearseArgs),
    /// Many sessions, in virtual time or live: a grid or list of conditions, seeds, all cores, in shards
    #[command(after_help = "Examples:\n  \
        palpate trial delay-and-mode --out runs/delays\n  palpate trial delay-and-mode --shard 2/8 --out runs/part-2\n  \
        palpate trial delay-and-mode --loss 0.05 --seed 7 --json\n  \
        palpate trial merge runs/part-1 runs/part-2 --out runs/whole\n\
        \nThe same command with the same --out continues where it was interrupted. Writes trials.csv, \
        trials.parquet and report.html.")]
    Trial(Box<TrialArgs>),
    /// Measure the link and propose wave impedance, codec and mode, with reasons
    #[command(
        after_help = "Examples:\n  palpate tune --secure keys --connect udp/192.0.2.7:7447,tls/192.0.2.7:7448\n  \
        palpate tune --rtt-ms 120 --jitter-ms 4 --loss 0.01 --stiffness 500 --json\n  \
        palpate tune --rtt-ms 120 --atlas runs/atlas"
    )]
    Tune(Box<TuneArgs>),
    /// Replay a recorded session: bit by bit, or the same hand under changed conditions
    #[command(after_help = "Examples:\n  palpate replay runs/first\n  \
        palpate replay runs/first --what-if rtt-ms=500 mode=wave --out runs/first-at-500\n  \
        palpate replay runs/first --console\n  palpate replay runs/first runs/second --console\n  \
        palpate replay runs --console --foxglove\n\n\
        --config, --set and --seed change the configuration of the recorded hand, as --what-if does.\n\
        \nExit status: 0 only if the port traces are bit-identical, 1 if not, 2 if the recording cannot \
        be replayed. With --console: 0 on Ctrl-C, 2 if it cannot be read.")]
    Replay(ReplayArgs),
    /// Join and judge what is whole of a session that was killed
    #[command(after_help = "Example:\n  palpate recover runs/first\n\n\
        Writes recording.mcap, in which the cut is marked, summary.json and report.html; the parts stay. Exit status: \
        1 if a check failed, 2 if nothing is to recover.")]
    Recover(RecoverArgs),
    /// Stiffness of layers and lumps from recordings, with uncertainty and unidentifiable parts
    #[command(after_help = "Example:\n  \
        palpate identify runs/first --twin layered --out runs/first-tissue")]
    Identify(IdentifyArgs),
    /// Stability and transparency over delay, jitter, impedance, stiffness, period and grip, by up to four methods
    #[command(after_help = "Examples:\n  palpate atlas --out runs/atlas\n  \
        palpate atlas --set charts=displayed --set oneway_ms=[20,200] --set wall_npm=500 --json\n\
        \nIn JSON a limit is a number, \"unbounded\" if none was found, or null if it is unknown. Writes atlas.csv and \
        report.html. Exit 1 if the methods disagree.")]
    Atlas(AtlasArgs),
    /// Measure this machine: a tick's cost, timer jitter, bus latency beside a raw socket, tissue
    #[command(after_help = "Examples:\n  palpate bench --out runs/bench\n  \
        palpate bench --only tissue --json\n\n\
        --config, --set and --seed apply to the part ticks, which runs a session.")]
    Bench(BenchArgs),
    /// Capabilities of this machine, and the command that enables each missing one
    #[command(after_help = "Example:\n  palpate doctor --json")]
    Doctor(DoctorArgs),
    /// Keys of a secured session: make them, show their fingerprint, trust another host, revoke
    #[command(after_help = "Example, on each of two hosts:\n  \
        palpate keys new keys\n  palpate keys trust keys other-host.pem\n\
        \nThe first writes keys/host.pem, the certificate that the other host trusts. Both show the fingerprints, \
        which must be the same on both hosts.")]
    Keys {
        /// Action on the keys.
        #[command(subcommand)]
        action: KeysAction,
    },
    /// Build, inspect, check, convert and drape tissue models, meshes and volumes; study which lumps can be felt
    #[command(after_help = "Example:\n  palpate model inspect regular")]
    Model {
        /// Accepted for uniformity: all facts of a model are always shown
        #[arg(short, long, global = true)]
        verbose: bool,
        /// Action on the model.
        #[command(subcommand)]
        action: ModelAction,
    },
    /// Echo process of `bench`
    #[command(
        name = "bench-echo",
        hide = true,
        after_help = "Example: started by palpate bench"
    )]
    BenchEcho(EchoArgs),
    /// Process whose start `bench` times
    #[command(
        name = "bench-start",
        hide = true,
        after_help = "Example: started by palpate bench"
    )]
    BenchStart(CacheArgs),
}

/// Cache folder for the process that `bench` times.
#[derive(Debug, Clone, Args)]
pub struct CacheArgs {
    /// Folder of the cache
    pub folder: PathBuf,
}

/// Flags of `palpate run`.
#[derive(Debug, Clone, Args)]
pub struct RunArgs {
    /// Session flags.
    #[command(flatten)]
    pub session: SessionArgs,
    /// Output flags.
    #[command(flatten)]
    pub output: OutputArgs,
    /// Make no keys for the session: its bus is readable and open to others on its network
    #[arg(long)]
    pub insecure: bool,
    /// Console page.
    #[command(flatten)]
    pub console: ConsoleArgs,
}

/// Flags of the console page.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Console")]
pub struct ConsoleArgs {
    /// Serve no console page; a slave has none
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
    /// Options of the page server.
    #[must_use]
    pub(crate) fn serve_options(&self) -> ServeOptions {
        ServeOptions {
            disabled: self.no_console,
            port: self.console_port,
            foxglove: self.foxglove.foxglove,
        }
    }
}

/// Flags for viewers that speak Foxglove's WebSocket protocol.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct FoxgloveArgs {
    /// Serve the console's data to Foxglove as well, on 127.0.0.1 [default port: 8765]; viewers need the
    /// token in the printed address, and can change nothing
    #[arg(long, value_name = "PORT", num_args = 0..=1, default_missing_value = "8765")]
    pub foxglove: Option<u16>,
}

/// Flags of `palpate lab`.
#[derive(Debug, Clone, Args)]
pub struct LabArgs {
    /// Session flags.
    #[command(flatten)]
    pub session: SessionArgs,
    /// Output flags.
    #[command(flatten)]
    pub output: OutputArgs,
    /// Write no recording.mcap
    #[arg(long)]
    pub no_recording: bool,
}

/// Flags of `palpate master` and `palpate slave`.
#[derive(Debug, Clone, Args)]
pub struct SideArgs {
    /// Session flags; both sides need the same.
    #[command(flatten)]
    pub session: SessionArgs,
    /// Output flags.
    #[command(flatten)]
    pub output: OutputArgs,
    /// Endpoints of the other side to connect to, zenoh style: the UDP one, then the TCP or TLS one
    #[arg(
        long,
        value_name = "ENDPOINT",
        value_delimiter = ',',
        conflicts_with = "listen"
    )]
    pub connect: Vec<String>,
    /// Endpoints to listen on, zenoh style: the UDP one, then the TCP or TLS one [default: the
    /// slave listens on network.port and the next port of this host, and the master connects to them]
    #[arg(long, value_name = "ENDPOINT", value_delimiter = ',')]
    pub listen: Vec<String>,
    /// Keys of the session.
    #[command(flatten)]
    pub security: SecurityArgs,
    /// Master: if the robot belongs to another master, ask it for a hand-over, and wait this long for the answer, in
    /// seconds; motion starts paused
    #[arg(long, value_name = "S", num_args = 0..=1, default_missing_value = "60",
        value_parser = session_flags::within(1.0, 3600.0, "1 to 3600 s"))]
    pub ask_handover: Option<f64>,
    /// Run until stopped, whatever the duration
    #[arg(long)]
    pub until_stopped: bool,
    /// Write the newest record as a line of JSON on stdout, five times a second
    #[arg(long)]
    pub status_lines: bool,
    /// Console page; the master has one unless it was started by a supervisor.
    #[command(flatten)]
    pub console: ConsoleArgs,
    /// The standard input is an ipc link to the console of the supervisor
    #[arg(long, hide = true)]
    pub console_on_stdin: bool,
}

/// Flags of `palpate identify`.
#[derive(Debug, Clone, Args)]
pub struct IdentifyArgs {
    /// Recordings: folders of runs, or .mcap files; several count as one record, in this order
    #[arg(required = true, value_name = "REC")]
    pub recordings: Vec<PathBuf>,
    /// Scene to start from, a built-in one or a file: its layers, lumps and mesh stay, its
    /// stiffnesses are fitted, and a missing lump is added if the contacts show one
    /// [default: the twin of the first recording]
    #[arg(long, value_name = "SCENE")]
    pub twin: Option<String>,
    /// Length to use of each recording, from just before its first contact, in seconds
    #[arg(long, value_name = "S", default_value_t = 30.0, value_parser = session_flags::within(0.1, 60.0, "0.1 to 60 s"),
        allow_negative_numbers = true)]
    pub seconds: f64,
    /// Folder for tissue.toml, report.html and identify.json (default: `runs/<time>-identify`)
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Treatment of an earlier run.
    #[command(flatten)]
    pub earlier: OverwriteArgs,
    /// Print identify.json on stdout, and nothing else there
    #[arg(long)]
    pub json: bool,
    /// Show no progress and no table
    #[arg(short, long)]
    pub quiet: bool,
    /// Show every check of the result as well
    #[arg(short, long)]
    pub verbose: bool,
    /// Configuration of the recordings, with its tool, instead of that of the first recording; nothing is
    /// random here.
    #[command(flatten)]
    pub fields: ConfigArgs,
}

/// Flags of `palpate bench`.
#[derive(Debug, Clone, Args)]
pub struct BenchArgs {
    /// Folder for bench.json, and report.html of voxel models (default: `runs/<time>-bench`)
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Treatment of an earlier run.
    #[command(flatten)]
    pub earlier: OverwriteArgs,
    /// Measure only these parts, separated by commas [default: all]
    #[arg(long, value_enum, value_name = "PART", value_delimiter = ',')]
    pub only: Vec<BenchPart>,
    /// Exit with 1 if this machine misses a goal; else misses are only reported
    #[arg(long)]
    pub strict: bool,
    /// Print bench.json on stdout, and nothing else there
    #[arg(long)]
    pub json: bool,
    /// Show no progress
    #[arg(short, long)]
    pub quiet: bool,
    /// Show every goal as well, with PASS or FAIL
    #[arg(short, long)]
    pub verbose: bool,
    /// Session whose ticks are measured by the part `ticks`; the other parts measure the machine.
    #[command(flatten)]
    pub fields: ConfigArgs,
}

/// Flags of `palpate doctor`.
#[derive(Debug, Clone, Args)]
pub struct DoctorArgs {
    /// Print the findings as JSON
    #[arg(long)]
    pub json: bool,
    /// Accepted for uniformity: all findings are always shown
    #[arg(short, long)]
    pub verbose: bool,
}

/// Flag of every command that writes into a folder.
#[derive(Debug, Clone, Copy, Args)]
pub struct OverwriteArgs {
    /// Replace the results of an earlier run in the folder of --out; without it such a folder is refused
    #[arg(long)]
    pub overwrite: bool,
}

impl OverwriteArgs {
    /// Folder for results as chosen with `--out`.
    pub(crate) fn chosen(self, out: Option<&Path>) -> ChosenFolder<'_> {
        ChosenFolder {
            out,
            overwrite: self.overwrite,
        }
    }
}

/// Flags of every command with results.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// Folder for the results (default: `runs/<time>-<name>`)
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Treatment of an earlier run.
    #[command(flatten)]
    pub earlier: OverwriteArgs,
    /// Print the summary as JSON on stdout, and nothing else there
    #[arg(long)]
    pub json: bool,
    /// Show no progress and no table
    #[arg(short, long)]
    pub quiet: bool,
    /// Show more: actions of limits and guards, causes of late ticks; all metrics of a trial; all points of an
    /// atlas
    #[arg(short, long)]
    pub verbose: bool,
}

impl OutputArgs {
    /// Folder for the results.
    pub(crate) fn chosen(&self) -> ChosenFolder<'_> {
        self.earlier.chosen(self.out.as_deref())
    }

    /// True if no progress is shown.
    pub(crate) fn is_silent(&self) -> bool {
        self.quiet || self.json
    }
}

/// Actions of `palpate model`. A model is a .fem file with faces in a .plg file of the same stem,
/// one of the built-in data sets `printed` and `regular`, a mesh or a volume of another program, or a
/// scene: a built-in one by its name, or a .toml file.
#[derive(Debug, Subcommand)]
pub enum ModelAction {
    /// Count, measure and describe a model
    #[command(
        after_help = "Examples:\n  palpate model inspect regular --units inch\n  \
        palpate model inspect liver.msh --units mm\n  \
        palpate model inspect layered\n  palpate model inspect labels.nrrd"
    )]
    Inspect(ModelArgs),
    /// Check a model: exit 1 if it is unfit to simulate
    #[command(after_help = "Examples:\n  palpate model validate patch.fem\n  \
        palpate model validate liver.msh --units mm")]
    Validate(ModelArgs),
    /// Write a lattice as .fem and .plg, a mesh as .vtu, the outside of either as .ply or .obj, a volume as .nrrd,
    /// and a voxel model as any of these, in colours
    #[command(after_help = "Examples:\n  \
        palpate model convert regular patch.fem --units inch --to-units si\n  \
        palpate model convert liver.msh liver.vtu --units mm\n  \
        palpate model convert layered-lump layers.vtu --to-units mm\n  \
        palpate model convert limb half.ply --clip y=0\n  \
        palpate model convert scan.nii.gz tissues.vtu --bands 0.2..0.6,0.6.. --spacing-mm 2")]
    Convert(ConvertArgs),
    /// Build a voxel model scene from a volume, or from the synthetic layered phantom
    #[command(
        after_help = "Examples:\n  palpate model build --seed 7 --out runs/limb\n  \
        palpate model build labels.nrrd --spacing-mm 2 --out runs/own\n  \
        palpate model build scan.nii.gz --bands 0.2..0.6,0.6.. --up -y\n  \
        palpate lab --tissue runs/limb/scene.toml --twin runs/limb/scene.toml\n\
        \nWrites labels.nrrd, scene.toml with a material for each label to edit, and report.html; of the phantom \
        also intensity.nrrd."
    )]
    Build(BuildArgs),
    /// Condense a block scene into the compliance table for late ticks, and store it in the cache
    #[command(after_help = "Example:\n  palpate model condense layered\n\
        \nSessions use the table if it is there; without it a late tick extrapolates with the last stiffness.")]
    Condense {
        /// Scene: a built-in one with layers, or a scene file
        scene: String,
        /// Recompute it even if it exists
        #[arg(long)]
        anew: bool,
    },
    /// Find which lumps of a block scene can be felt: sweep depth, radius and contrast, and press
    #[command(
        after_help = "Examples:\n  palpate model detect block-nodule --noise 0.02\n  \
        palpate model detect layered-lump --press-mm 4 --contrasts 10,30 --out runs/lumps\n\
        \nWrites detect.csv, mixing.csv and report.html. The default grid takes some minutes."
    )]
    Detect(DetectArgs),
    /// Press a scene with a rigid ball: force, stiffness, estimated error and, with --against truth, the true error
    #[command(
        after_help = "Examples:\n  palpate model press layered --at-mm 20,0 --depths-mm 1,2,5 --radius-mm 8\n  \
        palpate model press own.toml --at-mm -40,0 --depths-mm 2 --against truth\n  \
        palpate model press layered --depths-mm 4 --sine 5\n\
        \nWrites press.json and report.html."
    )]
    Press(PressArgs),
    /// Drape a flat model over a sphere and write the curved one
    #[command(after_help = "Example:\n  palpate model drape regular dome.fem --radius 6")]
    Drape {
        /// Model: a .fem file, or `printed`, or `regular`
        model: String,
        /// File to write, .fem; the faces go beside it as .plg
        target: PathBuf,
        /// Radius of the sphere, in the units of the model's file
        #[arg(long, default_value_t = 6.0, allow_negative_numbers = true)]
        radius: f64,
        /// Units of the model's file; then the written one is in SI units [default: the written file has the units of
        /// the model's, whatever they are]
        #[arg(long, value_enum, value_name = "UNITS")]
        units: Option<UnitName>,
    },
}

/// A model, by its name.
#[derive(Debug, Clone, Args)]
pub struct ModelArgs {
    /// Model: a file (.fem, .plg, .msh, .vtu, .obj, .stl, .ply, .nrrd, .nii, .nii.gz, or a scene in .toml), a
    /// folder with a DICOM series, `printed`, `regular`, or a built-in scene
    pub model: String,
    /// Units of the file, which the format does not define
    #[arg(long, value_enum, value_name = "UNITS", default_value_t = UnitName::Si)]
    pub units: UnitName,
}

/// Flags of `palpate model convert`.
#[derive(Debug, Clone, Args)]
pub struct ConvertArgs {
    /// Model to convert.
    #[command(flatten)]
    pub from: ModelArgs,
    /// File to write: .fem, with the faces beside it as .plg, or .vtu, .ply, .obj or .nrrd
    pub target: PathBuf,
    /// Units of the written file [default: as --units]
    #[arg(long, value_enum, value_name = "UNITS")]
    pub to_units: Option<UnitName>,
    /// Labels of a volume, and spacing of the nodes
    #[command(flatten)]
    pub labels: LabelArgs,
    /// Parts of a voxel model to write
    #[command(flatten)]
    pub shape: SurfaceArgs,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn command_tree_is_valid() {
        Cli::command().debug_assert();
    }

    #[test]
    fn default_command_is_run() {
        let cli = Cli::try_parse_from(["palpate", "--duration", "6"]).expect("flags of run");
        let CliCommand::Run(run) = cli.into_command() else {
            panic!("not run");
        };
        assert_eq!(run.session.duration, Some(6.0));
        let lab = Cli::try_parse_from(["palpate", "lab", "--seed", "3"]).expect("lab");
        assert!(matches!(lab.into_command(), CliCommand::Lab(_)));
    }

    #[test]
    fn round_trip_with_one_way_delays_is_refused() {
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
