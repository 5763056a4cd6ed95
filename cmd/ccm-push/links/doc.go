// Package links connects to NATS and to the workers of a call.
//
//	natslink.go     data in NATS
//	sharing.go      runs that other machines can follow and resume
//	workerslink.go  the queue of workers, and their keys
package links
