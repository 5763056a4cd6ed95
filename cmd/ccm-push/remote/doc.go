// Package remote has the commands about workers and data in NATS.
//
//	commands.go       the list of commands
//	registration.go   registration: services that resources registered
//	worker.go         worker
//	workerjoin.go     worker join
//	workers.go        workers
//	workersinvite.go  workers invite
package remote
