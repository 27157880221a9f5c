//! Makes the service and its messages of `echo.proto`, without protoc.

use std::error::Error;
use std::path::Path;
use std::{env, fs};

use prost::Message as _;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=echo.proto");
    let set = protox::compile(["echo.proto"], ["."])?;
    fs::write(Path::new(&env::var("OUT_DIR")?).join("echo.binpb"), set.encode_to_vec())?;
    tonic_prost_build::configure().build_client(false).compile_fds(set)?;
    Ok(())
}
