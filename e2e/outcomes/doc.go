// Package outcomes finds outcomes that are not true. A [Case] is a random play with random faults and what follows
// them: resume or undo. Each command and file of the play writes its own name on the host, so the truth is known. A
// [Drive] runs the case against hosts, and [Check] compares what all runs together reported with what happened.
//
//	case.go      a case, and its manifest
//	generate.go  random cases
//	fault.go     faults: when each one strikes, and what it does
//	truth.go     what hosts wrote down
//	report.go    what the records of the runs say
//	check*.go    the rules
//	drive.go     one case, from its first call to its last
//	cell*.go     cheap hosts: a real sshd each, in namespaces of its own
//	shrink.go    a smaller case that still breaks a rule
package outcomes
