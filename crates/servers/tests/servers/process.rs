//! The real program: started on a free port, and ended at the latest when a test ends.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};

use crate::folder::{Folder, unused_place};
use crate::response::Responses;

/// The kinds that fork.
pub(crate) const KINDS: [&str; 3] = ["simple", "persistent", "pipelined"];
/// Longer than anything takes, even on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// How often `eventually` looks, and for how long it waits between two looks.
const LOOKS: u32 = 6000;
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };

/// The program, not yet started.
#[expect(clippy::disallowed_methods, reason = "these tests are about a process")]
pub(crate) fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_loadcurve-server"))
}

/// A running server.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    process: Child,
    log: BufReader<ChildStderr>,
    /// Held open, as by every parent that takes what a server prints.
    _stdout: BufReader<ChildStdout>,
    _folder: Folder,
}

impl Server {
    /// Starts a server on a free port of this machine.
    pub(crate) fn start(kind: &str, options: &[&str]) -> Self {
        Self::start_at("127.0.0.1:0", kind, options)
    }

    /// Starts a server and waits until it listens.
    pub(crate) fn start_at(listen: &str, kind: &str, options: &[&str]) -> Self {
        let folder = Folder::at(unused_place(Path::new(env!("CARGO_TARGET_TMPDIR")))).unwrap();
        let mut program = program();
        program.args([kind, "--listen", listen, "--root"]).arg(folder.root()).args(options);
        let mut process = program.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdout = BufReader::new(process.stdout.take().unwrap());
        let log = BufReader::new(process.stderr.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let address = line.trim_end().strip_prefix("listening on ").expect("the address").parse().unwrap();
        Self { address, process, log, _stdout: stdout, _folder: folder }
    }

    /// Opens a connection.
    pub(crate) fn connect(&self) -> Responses<TcpStream> {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        Responses::of(stream)
    }

    /// Opens a connection and sends a request, or a part of one.
    pub(crate) fn send(&self, bytes: impl AsRef<[u8]>) -> Responses<TcpStream> {
        let mut client = self.connect();
        client.stream.write_all(bytes.as_ref()).unwrap();
        client
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.process)
    }

    /// The processes that this server has made and that are not gone: those that only wait to be reaped as well.
    pub(crate) fn children(&self) -> Vec<Pid> {
        let processes = fs::read_dir("/proc").unwrap().filter_map(|entry| {
            let pid = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            // The name of the program, in parentheses, may hold anything.
            let parent = stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()?;
            Some((Pid::from_raw(pid)?, Pid::from_raw(parent)?))
        });
        processes.filter(|(_, parent)| *parent == self.pid()).map(|(pid, _)| pid).collect()
    }

    /// Sends a signal to the server and waits until it has ended.
    pub(crate) fn end(&mut self, signal: Signal) -> ExitStatus {
        kill_process(self.pid(), signal).unwrap();
        self.process.wait().unwrap()
    }

    /// The next line that the server complains with.
    pub(crate) fn complaint(&mut self) -> String {
        let mut line = String::new();
        self.log.read_line(&mut line).unwrap();
        line
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Waits until something is so.
#[track_caller]
pub(crate) fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..LOOKS {
        if is_so() {
            return;
        }
        poll(&mut [], Some(&PAUSE)).unwrap();
    }
    panic!("never: {what}");
}

/// A handle of a process that exists.
pub(crate) fn handle_of(pid: Pid) -> OwnedFd {
    pidfd_open(pid, PidfdFlags::empty()).unwrap()
}

/// Waits until a process has ended.
#[track_caller]
pub(crate) fn wait_for_the_end(process: &OwnedFd) {
    let patience = Timespec::try_from(PATIENCE).unwrap();
    let ended = poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&patience)).unwrap();
    assert_eq!(ended, 1, "the process does not end");
}
