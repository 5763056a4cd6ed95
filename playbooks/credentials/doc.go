// Package credentials gets the passwords and passphrases of a run: from files, from
// programs that print them, or from a person at the terminal ([Sources.Read]).
//
// What is done with them is in transport, how hosts are reached in playbooks/reach. No
// secret may come in as an argument: everybody can read those.
package credentials
