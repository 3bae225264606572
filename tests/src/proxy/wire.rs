//! Just enough of PostgreSQL's protocol to tell one round from the next (PostgreSQL manual, 55.7, message
//! formats).

use std::collections::HashMap;
use std::io;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

use super::RoundKind;

/// The "protocol versions" by which a client asks for encryption instead of starting.
const ENCRYPTION_REQUESTS: [u32; 2] = [80_877_103, 80_877_104];

/// One client's connection and the server's end of it.
pub(super) struct Session {
    client: BufReader<TcpStream>,
    server: BufReader<TcpStream>,
    /// The text of every prepared statement, by its name.
    statements: HashMap<Vec<u8>, String>,
}

impl Session {
    /// Passes the start-up and the authentication on, up to the first `ReadyForQuery`, or only so many messages.
    pub(super) async fn start(client: TcpStream, server: TcpStream, mut messages: usize) -> io::Result<Self> {
        let mut pass = || {
            let left = messages.checked_sub(1);
            left.map(|left| messages = left).ok_or(io::ErrorKind::ConnectionAborted)
        };
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        let mut session = Self {
            client: BufReader::new(client),
            server: BufReader::new(server),
            statements: HashMap::new(),
        };

        let startup = loop {
            let packet = untagged(&mut session.client).await?;
            let version =
                packet.get(4..8).map(|bytes| u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
            pass()?;
            if !version.is_some_and(|version| ENCRYPTION_REQUESTS.contains(&version)) {
                break packet;
            }
            session.client.write_all(b"N").await?;
        };
        session.server.write_all(&startup).await?;

        loop {
            let message = Message::read(&mut session.server).await?;
            pass()?;
            session.client.write_all(&message.bytes).await?;
            match message.tag() {
                b'Z' => return Ok(session),
                // The password, or one step of SASL.
                b'R' if message.asks_for_an_answer() => {
                    let answer = Message::read(&mut session.client).await?;
                    pass()?;
                    session.server.write_all(&answer.bytes).await?;
                }
                _ => {}
            }
        }
    }

    /// Reads the client's next round, or nothing if the client says goodbye.
    pub(super) async fn next_round(&mut self) -> io::Result<Option<(RoundKind, String, Vec<u8>)>> {
        let mut kind = RoundKind::Ping;
        let mut sql = String::new();
        let mut bytes = Vec::new();
        loop {
            let message = Message::read(&mut self.client).await?;
            bytes.extend_from_slice(&message.bytes);
            match message.tag() {
                b'X' => {
                    self.server.write_all(&bytes).await?;
                    return Ok(None);
                }
                b'Q' => {
                    sql = text(message.string(0));
                    return Ok(Some((RoundKind::Run, sql, bytes)));
                }
                b'S' => return Ok(Some((kind, sql, bytes))),
                b'P' => {
                    kind = RoundKind::Prepare;
                    sql = text(message.string(1));
                    self.statements.insert(message.string(0).to_vec(), sql.clone());
                }
                b'B' => {
                    sql = self.statements.get(message.string(1)).cloned().unwrap_or_default();
                }
                b'E' => kind = RoundKind::Run,
                b'C' if kind == RoundKind::Ping => kind = RoundKind::Close,
                _ => {}
            }
        }
    }

    /// Sends bytes to the server.
    pub(super) async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.server.write_all(bytes).await
    }

    /// Sends a round to the server and reads its reply.
    pub(super) async fn ask(&mut self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        self.send(bytes).await?;
        let mut reply = Vec::new();
        loop {
            match Message::read(&mut self.server).await {
                Ok(message) => {
                    reply.extend_from_slice(&message.bytes);
                    if message.tag() == b'Z' {
                        return Ok(reply);
                    }
                }
                Err(error) => {
                    // The server's last words, such as why it ends the session.
                    self.client.write_all(&reply).await?;
                    return Err(error);
                }
            }
        }
    }

    /// Hands the server's reply to the client.
    pub(super) async fn reply(&mut self, reply: &[u8]) -> io::Result<()> {
        self.client.write_all(reply).await
    }
}

/// The SQLSTATE of every `ErrorResponse` among the messages of a reply.
pub(super) fn errors(mut reply: &[u8]) -> Vec<String> {
    let mut codes = Vec::new();
    while let [tag, a, b, c, d, rest @ ..] = reply {
        let length = usize::try_from(u32::from_be_bytes([*a, *b, *c, *d])).unwrap_or(usize::MAX);
        let Some((fields, next)) = rest.split_at_checked(length.saturating_sub(4)) else { break };
        if *tag == b'E' {
            let code = fields.split(|&byte| byte == 0).find_map(|field| field.strip_prefix(b"C"));
            codes.extend(code.map(text));
        }
        reply = next;
    }
    codes
}

/// A message with its tag and length.
struct Message {
    bytes: Vec<u8>,
}

impl Message {
    async fn read(stream: &mut BufReader<TcpStream>) -> io::Result<Self> {
        let tag = stream.read_u8().await?;
        let mut bytes = vec![tag];
        bytes.extend_from_slice(&untagged(stream).await?);
        Ok(Self { bytes })
    }

    fn tag(&self) -> u8 {
        self.bytes[0]
    }

    /// The zero-terminated string at position `index` of the strings that the message begins with.
    fn string(&self, index: usize) -> &[u8] {
        self.bytes[5..].split(|&byte| byte == 0).nth(index).unwrap_or_default()
    }

    /// Whether an authentication message is a question: everything but "ok" (0) and "SASL is done" (12).
    fn asks_for_an_answer(&self) -> bool {
        !matches!(self.bytes.get(5..9), Some([0, 0, 0, 0 | 12]))
    }
}

/// A length that counts itself, and what follows.
async fn untagged(stream: &mut BufReader<TcpStream>) -> io::Result<Vec<u8>> {
    let length = stream.read_u32().await?;
    let mut bytes = length.to_be_bytes().to_vec();
    bytes.resize(usize::try_from(length).map_err(io::Error::other)?.max(4), 0);
    stream.read_exact(&mut bytes[4..]).await?;
    Ok(bytes)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
