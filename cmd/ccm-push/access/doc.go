// Package access makes connections and logins from flags, and reads the keys of encrypted values.
//
//	authority.go    the authority that certifies keys for logins
//	connections.go  options and passwords of connections
//	localenv.go     the environment of programs on this machine
//	sshconfig.go    ssh_config
//	unsealer.go     the keys that decrypt values
package access
