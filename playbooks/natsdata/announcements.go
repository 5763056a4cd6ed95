package natsdata

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/ccm-push/ccm-push/playbooks/natsconn"
	"github.com/ccm-push/ccm-push/playbooks/registry"
)

// Announcements publish services to current subscribers, without storing them: CCM's destination nats. Subject and text
// are the same as for a [Registry]; the headers, which are for streams, are omitted.
type Announcements struct{ Link *natsconn.Link }

// Ready reports why nothing can be announced, or nil.
func (a Announcements) Ready(ctx context.Context) error {
	_, err := a.Link.Conn(ctx)
	return err
}

// Register announces services. The server sends no acknowledgement.
func (a Announcements) Register(ctx context.Context, list []registry.Registration) error {
	for _, one := range list {
		text, err := json.Marshal(one)
		if err == nil {
			err = a.Link.Publish(ctx, &nats.Msg{Subject: one.Subject(), Data: text})
		}
		if err != nil {
			return fmt.Errorf("announcing %s: %w", one, err)
		}
	}
	return nil
}
