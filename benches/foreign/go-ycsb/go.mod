// Builds go-ycsb: its command as it is published, which "go install" refuses for its replacements of modules.
module loadcurve.invalid/benches/go-ycsb

go 1.21

require github.com/pingcap/go-ycsb v1.0.1
