// Package sealed opens the encrypted parts of an operator's files: single values, and whole files. All code that reads
// files receives a [Ring], with one [Scheme] for each way of encryption; package vault below has the scheme of
// ansible-vault, and [Programs] runs programs that print values.
//
// A node keeps its opener (yamlpos.Node.Sealed), so a value is opened at most once, when it is used, and never if it is
// not. Access to values and their display are not decided here: every sealed value is marked as a secret.
package sealed
