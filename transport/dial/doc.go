// Package dial opens connections to hosts: it looks up the addresses of a host, dials the fastest of them, or uses jump
// hosts or a proxy command, verifies the host key, and has package auth log in. It repeats failures that may pass,
// within limits for each phase.
//
// All hosts of a run share a [Dialer]; [Dialer.Dial] returns a [transport.Client]. [Dialer.Scan] reads the keys of a
// host without a login, and [Dialer.Trust] adds them to known_hosts.
//
// Package transport and its other folders use the open connection.
package dial
