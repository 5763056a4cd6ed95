// Package authorizedkey is the resource type "authorized_key": a public key that lets somebody log in
// as a user.
package authorizedkey
