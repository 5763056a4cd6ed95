// Package reach says how a host of the inventory is reached, as whom, and why so: by the
// command line, the inventory, ssh_config and the defaults. The first of these that says
// something counts.
//
//	options.go     what the command line says, and a play
//	route.go       a host, and the jump hosts before it
//	reach.go       the settings of one of them, each with its origin; algorithms.go
//	refused.go     what the inventory says that cannot be honoured
//	text.go        all of that for people
//	secrets.go     passwords and passphrases, from files (secretfile.go) or a person (terminal.go)
//
// It makes a [transport.Target] and dials nothing. The passwords and passphrases of a run
// are read from files, from programs that print them, or from a person at the terminal
// ([SecretSources.Read]); none may come in as an argument, which everybody can read. Plays,
// catalogs and sessions stay out.
package reach
