// Package accounts reads the users and groups of a host for the types that manage them: the files passwd(5), group(5)
// and shadow(5), their predicted state in a check run, and the programs that change them.
package accounts
