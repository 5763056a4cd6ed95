// Package sudoers is the resource type "sudoers": a file of rules of sudo.
package sudoers
