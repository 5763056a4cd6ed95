// Package user is the resource type "user": a user of the host, with groups,
// password, home and SSH keys.
package user
