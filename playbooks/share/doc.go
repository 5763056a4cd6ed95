// Package share is what hosts have to do with each other during a run: values of one host
// that another receives, semaphores that several hold, and their places in the queue.
//
//	check.go        before a run: the imports that could never be satisfied
//	exports.go      what a play exports, and which hosts begin first because of it
//	exchange.go     during a run: what each host exports, handed on to those that import it
//	participant.go  one host in one play: it exports, imports, and waits
//	circle.go       a wait that would have no end
//	semaphore.go    counting semaphores, granted in the order of the requests
//	queue.go        hosts one after the other, so many at once; and one out of turn, when
//	                another waits for it
//
// It knows plays, hosts and catalogs. How a host is reached and talked to stays out: the
// session of a host asks on its behalf.
package share
