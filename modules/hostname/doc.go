// Package hostname is the resource type "hostname": the name of a host, now and after a boot.
package hostname
