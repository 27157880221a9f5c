use crate::support::*;
use loadcurve_plan::Stop;
#[test]
fn scratch_large() {
    for mb in [1, 5, 50] {
        let server = Server::replying(Reply::answer(ok(&"x".repeat(mb << 20))));
        let start = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let m = measure(open(server.address, 1, 10.0, Stop::RequestsTotal(10)));
        let _ = start;
        server.finish();
        println!("{mb} {} fb {} tr {}", m.value("/latency_ms/mean"), m.value("/first_byte_ms/mean"), m.value("/transfer_ms/mean"));
        println!("{} {}", m.value("/latency_ms/min"), m.value("/latency_ms/max"));
    }
}
