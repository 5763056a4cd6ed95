// Package sshconfig reads OpenSSH's client configuration, ssh_config(5), and says
// what it comes to for a host, each setting with the place it is from.
//
// It is a reader of our own: github.com/kevinburke/ssh_config v1.6.0 refuses Match
// but for "all" and "host", so that a common file would be an error, splits Host
// patterns at single blanks only, keeps quotes in values, takes unknown words and
// surplus ones in silence, and does not know the second pass after "Match final".
// The measure here is ssh -G of OpenSSH 9.2: a corpus of configurations is held
// against it (parity_test.go).
//
// What differs from ssh, on purpose:
//   - "Match exec" runs nothing unless [Environment].Exec is set.
//   - ProxyCommand counts in files of the user only, and no value with a character
//     that means something to a shell may take a token's place in it, wherever that
//     value is from (OpenSSH 9.6 has this rule for the command line, CVE-2023-51385).
//   - Host names are not canonicalized by DNS. The second pass over the files takes
//     place.
//   - Words of newer versions that have no meaning here are known.
package sshconfig
