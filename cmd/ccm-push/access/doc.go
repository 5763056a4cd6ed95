// Package access has what reaches hosts and reads secrets: connections, logins, and the keys of encrypted values.
//
//	authority.go    the authority that certifies keys for logins
//	connections.go  options and passwords of connections
//	localenv.go     the environment of programs on this machine
//	sshconfig.go    ssh_config
//	unsealer.go     the keys that decrypt values
package access
