package pumphouse_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	pumphouse "github.com/pumphouse/pumphouse/packages/go"
)

// must fails the test if a call fails, and returns its answer.
func must[Answer any](t *testing.T) func(answer Answer, err error) Answer {
	return func(answer Answer, err error) Answer {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
}

func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	if pumphouse.Code(err) != code {
		t.Errorf("the error is %v, not %s", err, code)
	}
}

func want(t *testing.T, got, wanted any) {
	t.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(wanted); g != w {
		t.Errorf("it is %s, not %s", g, w)
	}
}

func publish(t *testing.T, client *pumphouse.Client, job pumphouse.NewJob) string {
	t.Helper()
	return must[*pumphouse.PublishedJob](t)(client.Publish(ctx, job)).ID
}

func lease(t *testing.T, client *pumphouse.Client, queue string) int64 {
	t.Helper()
	var answer struct{ Jobs []struct{ Lease int64 } }
	if err := client.Call(ctx, "POST", "leases", map[string]any{"queues": []string{queue}}, &answer); err != nil || len(answer.Jobs) != 1 {
		t.Fatalf("it leases %v, %v", answer, err)
	}
	return answer.Jobs[0].Lease
}

func deadJob(t *testing.T, client *pumphouse.Client, queue, group string) string {
	t.Helper()
	id := publish(t, client, pumphouse.NewJob{Queue: queue, Type: "mail", Attributes: map[string]string{"shop": group}})
	body := map[string]any{"lease": lease(t, client, queue), "group": group, "message": "554 refused"}
	if err := client.Call(ctx, "POST", "jobs/"+id+"/fail", body, nil); err != nil {
		t.Fatal(err)
	}
	return id
}

func TestExplainNamesTheCauseAndCallsThatRemoveIt(t *testing.T) {
	client, queue := newClient(t, pumphouse.Config{}), queueName(t)
	id := publish(t, client, pumphouse.NewJob{Queue: queue})
	must[*pumphouse.QueueDetails](t)(client.PauseQueue(ctx, queue))
	found := must[*pumphouse.Explanation](t)(client.ExplainJob(ctx, id))
	if found.Cause != "paused" || found.Facts["queue"] != queue || !strings.Contains(found.Message, queue) || found.Since == nil {
		t.Errorf("it is %+v", found)
	}
	want(t, must[*pumphouse.Explanation](t)(client.ExplainQueue(ctx, queue)).Cause, "paused")
	for _, remedy := range found.Remedies {
		if !strings.HasPrefix(remedy.Command, "pumphouse queue resume "+queue) {
			t.Errorf("the command is %q", remedy.Command)
		}
		method, address, _ := strings.Cut(remedy.Call, " ")
		if err := client.Call(ctx, method, strings.SplitN(address, "/", 4)[3], nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	want(t, must[*pumphouse.Explanation](t)(client.ExplainJob(ctx, id)).Cause, found.Also[0].Cause)
	_, err := client.ExplainJob(ctx, "unknown")
	wantCode(t, err, "job_not_found")
}

func TestAJobIsChangedReplacedRevokedAndLogged(t *testing.T) {
	client, queue := newClient(t, pumphouse.Config{}), queueName(t)
	waits := pumphouse.NewJob{Queue: queue, Data: 1, Delay: time.Minute, Tags: []string{"a"}, History: true}
	id := must[*pumphouse.PublishedJob](t)(client.PutJob(ctx, "put-"+queue, waits)).ID
	_, err := client.PutJob(ctx, id, waits, pumphouse.OnlyNew())
	wantCode(t, err, "job_exists")
	now, priority := time.Duration(0), -3
	change := pumphouse.JobChange{Delay: &now, Priority: &priority, Tags: []string{}, Data: []byte{0}, Retry: &pumphouse.RetryPolicy{Kind: "none"}}
	want(t, must[*pumphouse.ChangedJob](t)(client.UpdateJob(ctx, id, change)).State, "ready")
	shown := must[*pumphouse.JobDetails](t)(client.Job(ctx, id))
	want(t, []any{shown.Priority, len(shown.Tags), shown.Bytes}, []any{-3, 0, []byte{0}})
	_, err = client.RevokeJob(ctx, id)
	wantCode(t, err, "not_leased")
	lease(t, client, queue)
	want(t, must[*pumphouse.ChangedJob](t)(client.RevokeJob(ctx, id)).State, "ready")
	if err := client.LogJob(ctx, id, "half way", map[string]int{"sent": 1}); err != nil {
		t.Fatal(err)
	}
	timeline := must[[]byte](t)(json.Marshal(must[*pumphouse.JobDetails](t)(client.Job(ctx, id)).Timeline))
	if !strings.Contains(string(timeline), "half way") {
		t.Errorf("the timeline is %s", timeline)
	}
	later := must[*pumphouse.ChangedJob](t)(client.UpdateJob(ctx, id, pumphouse.JobChange{DueAt: time.Now().Add(time.Hour)}))
	want(t, later.State, "scheduled")
}

func TestAQueueIsPausedChangedDrainedPurgedAndDeleted(t *testing.T) {
	client, queue := newClient(t, pumphouse.Config{}), queueName(t)
	details := must[*pumphouse.QueueDetails](t)
	want(t, details(client.Queue(ctx, queue)).Exists, false)
	publish(t, client, pumphouse.NewJob{Queue: queue})
	publish(t, client, pumphouse.NewJob{Queue: queue, Delay: time.Minute})
	if paused := details(client.PauseQueue(ctx, queue)); paused.PausedAt == nil {
		t.Error("it is not paused")
	}
	if resumed := details(client.ResumeQueue(ctx, queue)); resumed.PausedAt != nil {
		t.Error("it is paused")
	}
	some := pumphouse.SomeJobs{Type: "sms"}
	options := pumphouse.PauseOptions{SomeJobs: some, Note: "provider is down", For: time.Minute}
	if pauses := details(client.PauseJobs(ctx, queue, options)).Pauses; len(pauses) != 1 || *pauses[0].Type != "sms" || pauses[0].EndsAt == nil {
		t.Errorf("the pauses are %+v", pauses)
	}
	want(t, len(details(client.ResumeJobs(ctx, queue, some)).Pauses), 0)
	untyped := details(client.PauseJobs(ctx, queue, pumphouse.PauseOptions{SomeJobs: pumphouse.SomeJobs{WithoutType: true}})).Pauses
	if len(untyped) != 1 || untyped[0].Type != nil || untyped[0].ConcurrencyKey != nil {
		t.Errorf("the pauses are %+v", untyped)
	}
	details(client.ResumeJobs(ctx, queue, pumphouse.SomeJobs{WithoutType: true}))
	changed := details(client.UpdateQueue(ctx, queue, pumphouse.QueueSettings{"max_running": 20, "rate": pumphouse.Rate{Rate: 10, PeriodMs: 1000}}))
	want(t, []any{*changed.MaxRunning, *changed.Rate}, []any{20, pumphouse.Rate{Rate: 10, PeriodMs: 1000, Burst: 1}})
	changed = details(client.UpdateQueue(ctx, queue, pumphouse.QueueSettings{"rate": nil}))
	want(t, []any{*changed.MaxRunning, changed.Rate == nil}, []any{20, true})
	isListed := false
	if err := client.EachQueue(ctx, func(one *pumphouse.QueueDetails) error {
		isListed = isListed || one.Queue == queue && one.Counts["scheduled"] == 1
		return nil
	}); err != nil || !isListed {
		t.Errorf("the queue is not listed: %v", err)
	}
	want(t, details(client.DrainQueue(ctx, queue, time.Microsecond)).Length, 2)
	_, err := client.Publish(ctx, pumphouse.NewJob{Queue: queue})
	wantCode(t, err, "queue_draining")
	wantCode(t, client.DeleteQueue(ctx, queue), "queue_not_empty")
	purged := must[*pumphouse.PurgedQueue](t)
	states := []string{"ready", "scheduled"}
	want(t, *purged(client.PurgeQueue(ctx, queue, states, true)), pumphouse.PurgedQueue{Jobs: map[string]int{"ready": 1, "scheduled": 1}, DryRun: true, Complete: true})
	want(t, purged(client.PurgeQueue(ctx, queue, states, false)).Jobs, map[string]int{"ready": 1, "scheduled": 1})
	details(client.UpdateQueue(ctx, queue, pumphouse.QueueSettings{"max_running": 1}))
	if err := client.DeleteQueue(ctx, queue); err != nil {
		t.Fatal(err)
	}
	wantCode(t, client.DeleteQueue(ctx, queue), "queue_not_found")
}

func TestDeadJobsAreListedRespawnedMovedAndDeleted(t *testing.T) {
	client, queue := newClient(t, pumphouse.Config{}), queueName(t)
	ids := map[string]string{}
	for _, name := range []string{"a", "b", "c"} {
		ids[name] = deadJob(t, client, queue, name+"-"+queue)
	}
	var found []string
	filter := pumphouse.DeadListFilter{DeadFilter: pumphouse.DeadFilter{Queue: queue, Text: "Refused"}, Order: "oldest"}
	filter.Limit = 1
	if err := client.EachDeadJob(ctx, filter, func(job *pumphouse.JobDetails) error {
		found = append(found, job.ID+" "+job.Failure.Message)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	want(t, found, []string{ids["a"] + " 554 refused", ids["b"] + " 554 refused", ids["c"] + " 554 refused"})
	filter.Attributes, filter.From = map[string]string{"shop": "b-" + queue}, time.Now().Add(-time.Hour)
	page := must[*pumphouse.Page[pumphouse.JobDetails]](t)(client.DeadJobs(ctx, filter))
	want(t, []any{len(page.Items), page.Items[0].ID}, []any{1, ids["b"]})
	groups := map[string]int{}
	if err := client.EachFailureGroup(ctx, func(group *pumphouse.FailureGroup) error {
		groups[group.Name] = group.Jobs
		if group.Name == "a-"+queue {
			want(t, *group.Sample, pumphouse.FailureSample{ID: ids["a"], Queue: queue, Message: "554 refused"})
			want(t, []any{len(group.Trend), group.FirstAt.IsZero()}, []any{24, false})
		}
		return nil
	}); err != nil || groups["a-"+queue] != 1 {
		t.Errorf("the groups are %v, %v", groups, err)
	}
	outcome := must[*pumphouse.DeadOutcome](t)
	all := pumphouse.DeadSelection{Filter: &pumphouse.DeadFilter{Queue: queue}, DryRun: true}
	want(t, *outcome(client.DeleteDeadJobs(ctx, all)), pumphouse.DeadOutcome{Jobs: 3, DryRun: true})
	selection := pumphouse.DeadSelection{Filter: &pumphouse.DeadFilter{Group: "a-" + queue}}
	want(t, outcome(client.RespawnDeadJobs(ctx, pumphouse.RespawnOptions{DeadSelection: selection, Tries: 7})).Jobs, 1)
	want(t, must[*pumphouse.JobDetails](t)(client.Job(ctx, ids["a"])).TriesLeft, 7)
	selection = pumphouse.DeadSelection{IDs: []string{ids["b"]}}
	want(t, outcome(client.MoveDeadJobs(ctx, queue+"-2", pumphouse.RespawnOptions{DeadSelection: selection})).Jobs, 1)
	want(t, must[*pumphouse.JobDetails](t)(client.Job(ctx, ids["b"])).Queue, queue+"-2")
	if _, err := client.DeleteDeadJobs(ctx, pumphouse.DeadSelection{}); err == nil || !strings.Contains(err.Error(), "give a Filter, or IDs") {
		t.Errorf("the error is %v", err)
	}
	all.DryRun = false
	want(t, outcome(client.DeleteDeadJobs(ctx, all)).Jobs, 1)
	_, err := client.Job(ctx, ids["c"])
	wantCode(t, err, "job_not_found")
}

func TestARecurringJobIsStoredChangedPausedAndRun(t *testing.T) {
	client, queue := newClient(t, pumphouse.Config{}), queueName(t)
	recurring := must[*pumphouse.RecurringJob](t)
	end := time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC)
	schedule := pumphouse.Schedule{Cron: "30 2 * * *", TimeZone: "Europe/Berlin", Jitter: time.Microsecond, EndAt: end}
	job := pumphouse.NewJob{Queue: queue, Data: []byte{255}, ContentType: "image/png"}
	stored := recurring(client.PutRecurringJob(ctx, queue, pumphouse.NewRecurringJob{Schedule: schedule, Job: job, Overlap: "skip", CatchUp: time.Second}))
	schedule.Jitter = time.Millisecond
	want(t, []any{stored.Schedule, stored.Overlap, *stored.CatchUpMs, stored.LastSkip == nil}, []any{schedule, "skip", 1000, true})
	if !strings.Contains(string(stored.Job), `"data_base64":"/w=="`) {
		t.Errorf("its job is %s", stored.Job)
	}
	changed := recurring(client.UpdateRecurringJob(ctx, queue, pumphouse.RecurringChange{"schedule": pumphouse.Schedule{Every: time.Minute, Offset: time.Hour}}))
	want(t, changed.Schedule.Every, time.Minute)
	paused := recurring(client.PauseRecurringJob(ctx, queue, "the warehouse is closed"))
	want(t, []any{paused.Paused, paused.Note, paused.NextAt == nil}, []any{true, "the warehouse is closed", true})
	want(t, must[*pumphouse.Explanation](t)(client.ExplainRecurringJob(ctx, queue)).Cause, "paused")
	want(t, recurring(client.ResumeRecurringJob(ctx, queue)).Paused, false)
	made := must[string](t)(client.RunRecurringJob(ctx, queue))
	want(t, must[*pumphouse.JobDetails](t)(client.Job(ctx, made)).Queue, queue)
	want(t, len(must[[]pumphouse.UpcomingSlot](t)(client.UpcomingSlots(ctx, queue, 3))), 3)
	var listed []string
	filter := pumphouse.RecurringFilter{Queue: queue}
	if err := client.EachRecurringJob(ctx, filter, func(one *pumphouse.RecurringJob) error {
		listed = append(listed, one.ID)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	want(t, listed, []string{recurring(client.RecurringJob(ctx, queue)).ID})
	if err := client.DeleteRecurringJob(ctx, queue); err != nil {
		t.Fatal(err)
	}
	_, err := client.RecurringJob(ctx, queue)
	wantCode(t, err, "recurring_not_found")
}

func TestASchedulesNextSlotsArePreviewed(t *testing.T) {
	client := newClient(t, pumphouse.Config{})
	slots := must[[]pumphouse.UpcomingSlot](t)(client.PreviewSchedule(ctx, pumphouse.Schedule{Cron: "30 2 * * *", TimeZone: "UTC"}, 2))
	want(t, []any{len(slots), slots[0].At.UTC().Format("15:04"), slots[1].At.Sub(slots[0].At)}, []any{2, "02:30", 24 * time.Hour})
}

func TestWorkersAreListedAndToldToStop(t *testing.T) {
	client, queue := newClient(t, pumphouse.Config{}), queueName(t)
	name := "w-" + queue
	info := map[string]any{"name": "mailer", "language": "go", "queues": []string{queue}}
	heartbeat := map[string]any{"ttr_ms": 60000, "leases": []any{}, "info": info}
	if err := client.Call(ctx, "POST", "workers/"+name+"/heartbeat", heartbeat, nil); err != nil {
		t.Fatal(err)
	}
	session := must[*pumphouse.WorkerSession](t)
	shown := session(client.Worker(ctx, name))
	want(t, []any{shown.DisplayName, shown.Queues, shown.Quiet}, []any{"mailer", []string{queue}, false})
	if err := client.QuietWorker(ctx, name); err != nil {
		t.Fatal(err)
	}
	if err := client.StopWorker(ctx, name); err != nil {
		t.Fatal(err)
	}
	isListed := false
	if err := client.EachWorker(ctx, func(one *pumphouse.WorkerSession) error {
		isListed = isListed || one.Name == name && one.Quiet && one.Stop
		return nil
	}); err != nil || !isListed {
		t.Errorf("the worker is not listed: %v", err)
	}
	if err := client.DeleteWorker(ctx, name); err != nil {
		t.Fatal(err)
	}
	_, err := client.Worker(ctx, name)
	wantCode(t, err, "worker_not_found")
}

func TestAnOperationIsUndone(t *testing.T) {
	client, queue := newClient(t, pumphouse.Config{}), queueName(t)
	operation := must[*pumphouse.Operation](t)
	job := must[*pumphouse.PublishedJob](t)(client.Publish(ctx, pumphouse.NewJob{Queue: queue, Priority: 2}))
	remove := pumphouse.NewOperation{Action: "delete", Filter: &pumphouse.OperationFilter{Queue: queue}, Undo: time.Minute}
	ended := operation(client.WaitOperation(ctx, operation(client.StartOperation(ctx, remove)).ID, nil))
	want(t, []any{ended.Undo.State, ended.Undo.Jobs, ended.Undo.Restored}, []any{"kept", 1, 0})
	want(t, operation(client.UndoOperation(ctx, ended.ID)).HasEnded(), false)
	undone := operation(client.WaitOperation(ctx, ended.ID, nil)).Undo
	want(t, []any{undone.State, undone.Restored, undone.Failed, len(undone.Refusals)}, []any{"done", 1, 0, 0})
	want(t, must[*pumphouse.JobDetails](t)(client.Job(ctx, job.ID)).Priority, 2)
	remove.Undo = 0
	plain := operation(client.WaitOperation(ctx, operation(client.StartOperation(ctx, remove)).ID, nil))
	want(t, plain.Undo == nil, true)
	_, err := client.UndoOperation(ctx, plain.ID)
	wantCode(t, err, "undo_gone")
}

func TestAnOperationIsStartedWaitedForAndStopped(t *testing.T) {
	client, queue := newClient(t, pumphouse.Config{}), queueName(t)
	operation := must[*pumphouse.Operation](t)
	ids := make([]string, 0, 100)
	for _, job := range must[[]pumphouse.PublishedJob](t)(client.PublishMany(ctx, make100(queue))) {
		ids = append(ids, job.ID)
	}
	all := &pumphouse.OperationFilter{Queue: queue}
	dry := operation(client.StartOperation(ctx, pumphouse.NewOperation{Action: "cancel", Filter: all, DryRun: true}))
	dry = operation(client.WaitOperation(ctx, dry.ID, nil))
	want(t, []any{dry.State, dry.Matched, dry.Done, len(dry.Samples)}, []any{"done", 100, 0, 5})
	want(t, dry.Samples[0], pumphouse.OperationSample{ID: ids[0], Queue: queue, State: "ready"})
	priority, seen := -5, 0
	patch := pumphouse.NewOperation{Action: "patch", Filter: all, Set: &pumphouse.JobChange{Priority: &priority}}
	ended := operation(client.WaitOperation(ctx, operation(client.StartOperation(ctx, patch)).ID, func(*pumphouse.Operation) { seen++ }))
	want(t, []any{ended.Done, ended.Failed, ended.HasEnded(), seen > 0}, []any{100, 0, true, true})
	want(t, must[*pumphouse.JobDetails](t)(client.Job(ctx, ids[99])).Priority, -5)
	move := pumphouse.NewOperation{Action: "move", Filter: all, To: queue + "-2", RatePerS: 1, IdempotencyKey: "k-" + queue}
	slow := operation(client.StartOperation(ctx, move))
	want(t, operation(client.StartOperation(ctx, move)).ID, slow.ID)
	soon, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	last, err := client.WaitOperation(soon, slow.ID, nil)
	if err != context.DeadlineExceeded || last == nil || last.HasEnded() {
		t.Errorf("it is %+v, %v", last, err)
	}
	want(t, operation(client.StopOperation(ctx, slow.ID)).Reason, "stopped")
	isListed := false
	if err := client.EachOperation(ctx, func(one *pumphouse.Operation) error {
		isListed = isListed || one.ID == slow.ID && one.RatePerS == 1
		return nil
	}); err != nil || !isListed {
		t.Errorf("the operation is not listed: %v", err)
	}
	if _, err := client.StartOperation(ctx, pumphouse.NewOperation{Action: "cancel"}); err == nil || !strings.Contains(err.Error(), "give a Filter") {
		t.Errorf("the error is %v", err)
	}
	_, err = client.Operation(ctx, "unknown")
	wantCode(t, err, "operation_not_found")
}

func make100(queue string) []pumphouse.NewJob {
	jobs := make([]pumphouse.NewJob, 100)
	for i := range jobs {
		jobs[i].Queue = queue
	}
	return jobs
}

func TestTheStatisticsOfADayAreRead(t *testing.T) {
	client, queue := newClient(t, pumphouse.Config{}), queueName(t)
	publish(t, client, pumphouse.NewJob{Queue: queue})
	stats := must[*pumphouse.DayStatistics](t)(client.Statistics(ctx, pumphouse.StatisticsFilter{Queue: queue, Day: "2026-01-01"}))
	want(t, []any{stats.Queue, stats.Day, stats.Waits.Count}, []any{queue, "2026-01-01", 0})
}

func TestADeleteWhoseFirstAnswerWasLostIsDone(t *testing.T) {
	gone := httpAnswer(404, `{"code":"queue_not_found"}`)
	if err := newClient(t, pumphouse.Config{URL: answering(t, "", gone)}).DeleteQueue(ctx, "q"); err != nil {
		t.Errorf("the error is %v", err)
	}
	wantCode(t, newClient(t, pumphouse.Config{URL: answering(t, gone)}).DeleteQueue(ctx, "q"), "queue_not_found")
	wantCode(t, newClient(t, pumphouse.Config{URL: answering(t, "", gone)}).Call(ctx, "DELETE", "queues/q", nil, nil), "queue_not_found")
}

func TestACancelWhoseFirstAnswerWasLostIsDone(t *testing.T) {
	gone := httpAnswer(404, `{"code":"job_not_found"}`)
	cancel := func(answers ...string) (*pumphouse.CancelledJob, error) {
		client := newClient(t, pumphouse.Config{URL: answering(t, answers...)})
		return client.CancelJob(ctx, "a", pumphouse.CancelOptions{})
	}
	want(t, *must[*pumphouse.CancelledJob](t)(cancel("", gone)), pumphouse.CancelledJob{ID: "a", Outcome: "already_cancelled"})
	_, err := cancel(gone)
	wantCode(t, err, "job_not_found")
	page := httpAnswer(404, "no route")
	_, err = cancel("", page)
	wantCode(t, err, "http_404")
	// A proxy that has no route deletes nothing.
	wantCode(t, newClient(t, pumphouse.Config{URL: answering(t, "", page)}).DeleteQueue(ctx, "q"), "http_404")
}

func TestAPutWithoutAnAnswerIsNotTriedAgain(t *testing.T) {
	stored := httpAnswer(201, `{"id":"a","state":"ready"}`)
	_, err := newClient(t, pumphouse.Config{URL: answering(t, "", stored)}).PutJob(ctx, "a", pumphouse.NewJob{Queue: "q"})
	wantCode(t, err, "network")
	body := map[string]string{"queue": "q"}
	err = newClient(t, pumphouse.Config{URL: answering(t, "", stored)}).Call(ctx, "PUT", "jobs/a", body, nil)
	wantCode(t, err, "network")
}
