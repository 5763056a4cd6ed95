// Package selinux is the resource type "selinux": whether a host goes by SELinux, and by which policy.
package selinux
