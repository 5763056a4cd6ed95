// Package selinux is the resource type "selinux": whether a host uses SELinux, and with which policy.
package selinux
