// Package reach says how a host of the inventory is reached, as whom, and why so: by the
// command line, the inventory, ssh_config and the defaults. The first of these that says
// something counts.
//
// It makes a [transport.Target] and dials nothing. The passwords and passphrases of a run
// are read from files, from programs that print them, or from a person at the terminal
// ([SecretSources.Read]); none may come in as an argument, which everybody can read. Plays,
// catalogs and sessions stay out.
package reach
