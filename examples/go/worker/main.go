// Command worker runs jobs until SIGTERM or SIGINT.
package main

import (
	"context"
	"fmt"
	"log"

	"example.com/images"
	pumphouse "github.com/pumphouse/pumphouse/packages/go"
)

func resize(ctx context.Context, job *pumphouse.Job) (any, error) {
	var data images.Resize
	if err := job.Decode(&data); err != nil {
		return nil, &pumphouse.FailError{Err: err, Group: "format"} // To the dead letter; any other error is a retry.
	}
	fmt.Println("resized", data.File) // The work. It should end when ctx does: the lease may be lost.
	return images.Resized{File: fmt.Sprintf("%d/%s", data.Width, data.File)}, ctx.Err()
}

func main() {
	worker, err := images.Connect().NewWorker(pumphouse.WorkerOptions{Queues: []string{images.Queue}, Concurrency: 4})
	if err != nil {
		log.Fatal(err)
	}
	worker.Handle("resize", resize)
	log.Println(worker.RunUntilSignal(context.Background()))
}
