//! Just enough of HTTP/1.1 to tell one message from the next (RFC 9112, 6): a head, and as many bytes as
//! its `Content-Length` says.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _};

/// A request or an answer, as it came over the wire.
pub(super) struct Message {
    pub(super) bytes: Vec<u8>,
    /// Where the body begins.
    body: usize,
}

impl Message {
    /// Reads the next message, or nothing if the stream ends before it begins.
    pub(super) async fn read(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<Self>> {
        let Some(mut message) = Self::read_head(stream).await? else { return Ok(None) };
        if message.field("transfer-encoding").is_some() {
            return Err(io::Error::other("a message without a length"));
        }
        let length = message.field("content-length").map_or(Ok(0), str::parse::<usize>);
        message.bytes.resize(message.body + length.map_err(io::Error::other)?, 0);
        stream.read_exact(&mut message.bytes[message.body..]).await?;
        Ok(Some(message))
    }

    /// Reads the head of the next message, or nothing if the stream ends before it begins. The body is left there.
    pub(super) async fn read_head(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<Self>> {
        let mut bytes = Vec::new();
        while !bytes.ends_with(b"\r\n\r\n") {
            match stream.read_u8().await {
                Ok(byte) => bytes.push(byte),
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof && bytes.is_empty() => {
                    return Ok(None);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(Some(Self { body: bytes.len(), bytes }))
    }

    /// The value of the first field line of this name, which is in lower case.
    pub(super) fn field(&self, name: &str) -> Option<&str> {
        let head = str::from_utf8(&self.bytes[..self.body]).ok()?;
        let fields = head.lines().filter_map(|line| line.split_once(':'));
        let mut values = fields.filter(|(field, _)| field.eq_ignore_ascii_case(name));
        values.next().map(|(_, value)| value.trim())
    }

    pub(super) fn body(&self) -> &[u8] {
        &self.bytes[self.body..]
    }

    /// Half of the head.
    pub(super) fn half_a_head(&self) -> &[u8] {
        &self.bytes[..self.body / 2]
    }

    /// The head and half of the body.
    pub(super) fn first_half(&self) -> &[u8] {
        &self.bytes[..self.body + self.body().len() / 2]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn messages_end_where_their_length_says() {
        let mut stream: &[u8] = b"POST / HTTP/1.1\r\nContent-Length: 4\r\nX: y\r\n\r\nteas\
              HTTP/1.1 204 No Content\r\n\r\n";

        let first = Message::read(&mut stream).await.unwrap().unwrap();
        let second = Message::read(&mut stream).await.unwrap().unwrap();
        let end = Message::read(&mut stream).await.unwrap();

        assert_eq!((first.field("x"), first.body()), (Some("y"), b"teas".as_slice()));
        assert!(first.first_half().ends_with(b"\r\n\r\nte"));
        assert!(first.half_a_head().starts_with(b"POST / HTTP/1.1\r\n"));
        assert_eq!(second.body(), b"");
        assert!(end.is_none());
    }

    #[tokio::test]
    async fn half_a_message_is_an_error() {
        for half in ["POST / HTTP/1.1\r\nX: y\r\n", "POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\ntea"] {
            assert!(Message::read(&mut half.as_bytes()).await.is_err());
        }
    }
}
