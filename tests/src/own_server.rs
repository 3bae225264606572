//! A PostgreSQL server of a test's own, to be stopped and started again.

use std::io::Read as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use std::{env, fs, process};

use tokio::process::Command;
use tokio::task::spawn_blocking;

use crate::patience::{eventually, within};

/// How long a program may take to make a server's data, or a server to stop.
const LIMIT: Duration = Duration::from_mins(1);

/// How a server is stopped (PostgreSQL manual, 19.5, shutting down the server).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shutdown {
    /// Transactions are rolled back and sessions told.
    Fast,
    /// As a crash: nobody is told, and the next start recovers.
    Immediate,
}

impl Shutdown {
    fn signal(self) -> &'static str {
        match self {
            Self::Fast => "-INT",
            Self::Immediate => "-QUIT",
        }
    }
}

/// A server, its data in a directory of its own. Dropping it stops it and removes the data.
#[derive(Debug)]
pub struct OwnServer {
    programs: PathBuf,
    directory: PathBuf,
    /// The user and group that the server runs as where this test is root's, which the server refuses to be.
    owner: Option<(&'static str, String)>,
    port: u16,
    password: String,
    running: Option<Child>,
}

impl OwnServer {
    /// Makes a server and starts it.
    ///
    /// # Panics
    /// If PostgreSQL's server programs are not installed, or fail.
    pub async fn start() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("idem-server-{}-{number}", process::id());
        let directory = env::temp_dir().join(name);
        fs::create_dir(&directory).expect("the temporary directory can be written to");

        let mut server = Self {
            programs: programs(),
            directory,
            owner: owner().await,
            port: free_port(number),
            password: password(),
            running: None,
        };
        if let Some((user, _)) = &server.owner {
            output(Command::new("chown").arg(user).arg(&server.directory)).await;
        }
        let password_file = server.directory.join("password");
        fs::write(&password_file, &server.password).expect("the directory is this test's own");
        let mut initdb = server.program("initdb");
        initdb.args(["--username=postgres", "--auth=password", "--encoding=UTF8", "--locale=C", "--no-sync"]);
        initdb.arg("--pwfile").arg(password_file).arg("--pgdata").arg(server.data());
        output(&mut initdb).await;
        server.start_again().await;
        server
    }

    /// The URL of its database.
    #[must_use]
    pub fn url(&self) -> String {
        format!("postgres://postgres:{}@127.0.0.1:{}/postgres", self.password, self.port)
    }

    /// Starts it on the data that it has, and waits until it takes connections.
    ///
    /// # Panics
    /// The future panics if it does not start.
    pub async fn start_again(&mut self) {
        let mut server = self.program("postgres");
        server.arg("-D").arg(self.data()).args(["-p", &self.port.to_string()]);
        // A crash of the server, and not of the machine, is what the tests are about, so nothing need reach the disk.
        for setting in ["listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off"] {
            server.args(["-c", setting]);
        }
        let log = self.directory.join("log");
        server.stdout(Stdio::null()).stdin(Stdio::null());
        server.stderr(fs::File::create(&log).expect("the directory is this test's own"));
        // Not tokio's child, which cannot be waited for when it is dropped.
        self.running = Some(server.into_std().spawn().expect("postgres runs"));
        let status_file = self.data().join("postmaster.pid");
        let running = &mut self.running;
        let mut is_ready = || {
            let ended = running.as_mut().and_then(|child| child.try_wait().ok().flatten());
            assert_eq!(ended, None, "{}", fs::read_to_string(&log).unwrap_or_default());
            fs::read_to_string(&status_file).is_ok_and(|text| text.contains("\nready"))
        };
        eventually(|| std::future::ready(is_ready())).await;
    }

    /// Stops it, and waits until it is gone.
    ///
    /// # Panics
    /// The future panics if it does not stop.
    pub async fn stop(&mut self, how: Shutdown) {
        let mut server = self.running.take().expect("it runs");
        output(Command::new("kill").args([how.signal(), &server.id().to_string()])).await;
        let ended = within(LIMIT, spawn_blocking(move || server.wait())).await;
        ended.expect("waiting does not panic").expect("it is this test's own");
    }

    fn data(&self) -> PathBuf {
        self.directory.join("data")
    }

    /// One of PostgreSQL's programs, run by the owner. `setpriv` executes it, so the process is the program's own.
    fn program(&self, name: &str) -> Command {
        let path = self.programs.join(name);
        let mut command = match &self.owner {
            None => Command::new(path),
            Some((user, group)) => {
                let mut command = Command::new("setpriv");
                command.args(["--reuid", user, "--regid", group, "--clear-groups"]).arg(path);
                command
            }
        };
        command.current_dir(&self.directory);
        command
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        if let Some(mut server) = self.running.take() {
            // SIGKILL would leave its children to themselves.
            let _ = process::Command::new("kill").args(["-QUIT", &server.id().to_string()]).status();
            let _ = server.wait();
        }
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// The directory of the newest server programs: that of PATH, or where Debian keeps them.
fn programs() -> PathBuf {
    let in_path = env::var_os("PATH").unwrap_or_default();
    let mut found = env::split_paths(&in_path).collect::<Vec<_>>();
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut versions = versions.map(|version| version.path().join("bin")).collect::<Vec<_>>();
    let number = |path: &PathBuf| path.parent().and_then(Path::file_name)?.to_str()?.parse::<u32>().ok();
    versions.sort_by_key(number);
    found.extend(versions.into_iter().rev());
    let has_all =
        |directory: &PathBuf| ["initdb", "postgres"].iter().all(|name| directory.join(name).exists());
    found.into_iter().find(has_all).expect(
        "this test starts a PostgreSQL server of its own and finds no initdb in PATH or /usr/lib/postgresql: \
         install postgresql (scripts/test does)",
    )
}

/// A port that nobody listens on, below those that systems give to outgoing connections, so that no client takes it
/// while the server is stopped.
fn free_port(number: u32) -> u16 {
    // Apart from those that other servers are about to take.
    let first = u16::try_from((process::id() + 1000 * number) % 10_000).expect("it is small");
    let ports = (0..10_000).map(|number| 20_000 + (first + number) % 10_000);
    ports.into_iter().find(|&port| TcpListener::bind(("127.0.0.1", port)).is_ok()).expect("a free port")
}

/// A password that nobody guesses: every local user can reach the port, and a superuser can run programs.
fn password() -> String {
    let mut bytes = [0; 16];
    let mut random = fs::File::open("/dev/urandom").expect("the system has random numbers");
    random.read_exact(&mut bytes).expect("the system has random numbers");
    format!("{:032x}", u128::from_ne_bytes(bytes))
}

/// Who the server runs as, unless that is who runs this test.
async fn owner() -> Option<(&'static str, String)> {
    if output(Command::new("id").arg("-u")).await != "0" {
        return None;
    }
    let is_there = Command::new("id").arg("postgres").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let is_there = within(LIMIT, is_there).await.is_ok_and(|status| status.success());
    let user = if is_there { "postgres" } else { "nobody" };
    Some((user, output(Command::new("id").args(["-g", user])).await))
}

/// What a command writes, which must succeed.
async fn output(command: &mut Command) -> String {
    let output = within(LIMIT, command.output()).await.expect("the command is installed");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}
