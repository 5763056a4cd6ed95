// Package container is the resource type "container": a container of podman or docker.
package container
