// Package reach decides how to connect to a host of the inventory and as which user. It takes each setting from
// the command line, the inventory, ssh_config or the defaults, in this order of precedence.
//
//	options.go     the settings of the command line and of a play
//	route.go       a host, and the jump hosts before it
//	reach.go       the settings of one of these hosts, each with its origin
//	algorithms.go  algorithms and authentication methods
//	passwords.go   passwords of the inventory
//	refused.go     inventory settings that are not supported
//	text.go        all settings, as text and as JSON
//	wiretarget.go  a target for another machine, without secrets
//	secrets.go     passwords and passphrases of a run
//	secretfile.go  a secret from a file or a program
//	terminal.go    a secret from a person at the terminal
//	vault.go       passwords of ansible-vault
//
// It makes a [transport.Target] and does not connect. [SecretSources.Read] reads the passwords and passphrases of
// a run from files, from programs that print them, or from a person at the terminal. It accepts no secret as an
// argument, because every user of the machine can read arguments. Plays, catalogs and sessions do not belong here.
package reach
