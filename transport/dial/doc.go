// Package dial opens connections to hosts: it finds the addresses of a host, dials the
// fastest of them, or goes through jump hosts or a proxy command, verifies the host key,
// and has package auth log in. It repeats what may pass, within limits for each phase.
//
// A [Dialer] is shared by all hosts of a run; [Dialer.Dial] gives a [transport.Client].
// [Dialer.Scan] asks a host for its keys only, and [Dialer.Trust] adds them to known_hosts.
//
// What happens on a connection once it stands does not belong here.
package dial
