package modules

import "context"

// Mounts mount and unmount at paths that the host has opened itself, with no symbolic link on the
// way: whatever other users rename meanwhile, nothing is mounted anywhere else. Allowed in Apply only.
type Mounts interface {
	// Mount mounts at path what mount has mounted at stage, a new directory that only root can reach.
	// An error leaves nothing mounted.
	Mount(ctx context.Context, path string, mount func(stage string) error) error
	// Bind mounts at path what is at source, with tree also the mounts below it. Before that, adjust
	// may change the options of the mount, which is at stage. Links on the way to source are
	// followed where no other user can have planted them.
	Bind(ctx context.Context, source, path string, tree bool, adjust func(stage string) error) error
	// Remount applies to the mount at path the options that remount has set on its copy at stage.
	Remount(ctx context.Context, path string, remount func(stage string) error) error
	// Unmount unmounts what is mounted at path.
	Unmount(ctx context.Context, path string) error
}
