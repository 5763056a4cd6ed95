// Package firewall is the resource type "firewall": who may reach a port of the host, and who may not.
//
//	firewall.go  the properties, and which firewall of the host is the one
//	rule.go      a rule, as nft(8) writes it, and which of two comes first
//	check.go     what differs, and what is done about it
//	nftables.go  rules of nftables: in force, and kept for the next boot
//	listing.go   what nft tells of the rules of the host
//	barriers.go  what else keeps packets away that a rule accepts
//	lockout.go   the connection by which the host is worked on
//	managed.go   firewalls that keep rules themselves; ufw.go, firewalld.go: each of them
//	observe.go   undo, watch, describe
package firewall
