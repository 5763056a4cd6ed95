// Package firewall is the resource type "firewall": rules that accept or drop connections to ports of the host.
//
//	firewall.go   the properties, and which firewall of the host is used
//	related.go    related resources and examples, for the controller
//	rule.go       a rule in the syntax of nft(8), and the order of rules
//	check.go      the differences, and the steps that remove them
//	nftables.go   rules of nftables: in force, and saved for the next boot
//	listing.go    reads the rules of the host from nft --json
//	barriers.go   other chains that drop packets which a rule accepts
//	lockout.go    refuses rules that would block the login of the run
//	managed.go    firewalls that save rules themselves
//	ufw.go        ufw
//	firewalld.go  firewalld
//	observe.go    undo, watch, describe
package firewall
