// Package share connects the hosts of a run: values of one host that another receives, semaphores that several
// hosts request, and their places in the queue.
//
//	check.go        before a run: imports that no host could satisfy
//	exports.go      the exports of a play, and which hosts therefore begin first
//	queue.go        the queue of hosts, a limited number at once; a host that others wait for begins early
//	wayin.go        a host that connects: a slow one returns its place
//	exchange.go     exported values of each host, passed to the hosts that import them
//	participant.go  one host in one play: it exports, imports, and waits
//	once.go         resources that run on one host of a batch
//	sessions.go     sessions of hosts, for one user at a time
//	waits.go        which hosts wait for which others
//	circle.go       a circle of waiting resources
//	semaphore.go    counting semaphores, granted in the order of the requests
//	turns.go        the semaphores of one host in one play
//
// It knows plays, hosts and catalogs. The connection to a host does not belong here: its session calls this
// package.
package share
