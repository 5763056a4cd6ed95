// Package seport is the resource type "seport": the type that SELinux assigns to a network port.
package seport
