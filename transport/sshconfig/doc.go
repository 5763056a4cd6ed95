// Package sshconfig reads OpenSSH's client configuration, ssh_config(5), and returns the settings of a host, each with
// its place.
//
// The reader is our own: github.com/kevinburke/ssh_config v1.6.0 refuses Match with criteria other than "all" and
// "host", so that a common file would be an error. It also splits Host patterns at single blanks only, keeps quotes in
// values, ignores unknown and surplus words, and lacks the second pass after "Match final". The reference is ssh -G of
// OpenSSH 9.2: a test compares a corpus of configurations with it (parity_test.go).
//
// Differences from ssh, on purpose:
//   - "Match exec" runs nothing unless [Environment].Exec is set.
//   - ProxyCommand counts in files of the user only. No value with a character that is special to a shell may replace a token in it, whatever its origin (OpenSSH 9.6 has this rule for the command line, CVE-2023-51385).
//   - Host names are not canonicalized by DNS. The second pass over the files takes place.
//   - Words of newer versions that have no meaning here are known.
package sshconfig
