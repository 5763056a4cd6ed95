// Package sealed opens what stands encrypted in the files of an operator: single values, and
// files as a whole. A [Ring] is handed to all who read files, with one [Scheme] for each way
// in which they are encrypted; package vault below has that of ansible-vault, and [Programs]
// asks programs for values.
//
// Nodes keep what they are opened with (yamlpos.Node.Sealed), so a value is opened where it is
// used, at most once, and never if it is not. Who may use it, and that it is not shown, is for
// others: all that is sealed is marked as a secret.
package sealed
