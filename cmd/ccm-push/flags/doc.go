// Package flags has the flags that commands of ccm-push share: each group is a plain value. [All] has all groups. It is
// registered and parsed once, and commands read it.
//
//	all.go         all groups, and checks of several of them
//	alias.go       second names of flags, and hints about flags of Ansible
//	call.go        the record of a run, the background, sessions of ad-hoc calls
//	connection.go  connections, logins, the certificate authority
//	data.go        variables, facts, and keys of encrypted values
//	deadline.go    values that are durations
//	given.go       the flags of a recorded run
//	inventory.go   the inventory and its hosts
//	nats.go        NATS and workers
//	output.go      what is printed, and files of reports
//	rollout.go     rollouts
//	run.go         changes, pace, and programs of a run
//	selection.go   plays and resources
package flags
