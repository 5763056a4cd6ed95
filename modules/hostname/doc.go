// Package hostname is the resource type "hostname": what a host calls itself, now and after a boot.
package hostname
