// Package seport is the resource type "seport": the type that SELinux gives a port of the network.
package seport
