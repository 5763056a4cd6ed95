// Package sealing encrypts what coordinators, workers and operators exchange, and reads it again with limits.
//
//	seal.go    values for the holder of a key (age), and frames for long messages
//	sealer.go  requests and answers between a coordinator and a worker
//	decode.go  decoding, and the check of each message
package sealing
