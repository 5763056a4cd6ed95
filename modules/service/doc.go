// Package service is the resource type "service": a service or another unit that
// runs or not, and that is started at boot or not. systemd and OpenRC are its
// providers.
package service
