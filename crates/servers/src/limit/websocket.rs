//! WebSocket: the echoes of one read leave in one write.

use loadcurve_servers::websocket::Echo;

use super::step::Step;
use super::transport::Transport;

/// Echoes what has come of a client's messages. The batch is empty.
pub(super) fn answer(echo: &mut Echo, transport: &mut Transport, bytes: &[u8], batch: &mut Vec<u8>) -> Step {
    if echo.is_over() {
        return Step::Continue(());
    }
    echo.receive(bytes, batch);
    // After a close the server closes first (RFC 6455 §7.1.1), and nothing of its last words is lost to a reset.
    transport.lingers = true;
    transport.close_when_sent |= echo.is_over();
    let step = if batch.is_empty() { Step::Continue(()) } else { transport.write(batch) };
    batch.clear();
    step
}

/// The client sends nothing more: it still gets what was echoed.
pub(super) fn end_of_messages(transport: &mut Transport) -> Step {
    transport.lingers = false;
    transport.close_when_sent = true;
    if transport.is_shut || transport.is_clear() { Step::Break(()) } else { Step::Continue(()) }
}
