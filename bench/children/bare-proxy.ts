import { Agent } from 'node:http';
import express from 'express';
import { createProxyMiddleware } from 'http-proxy-middleware';
import { listenAndTell } from './listen.ts';

// Baseline for the gateway: the same proxy with the same connections and no checks, on Express or on node:http.
const [target, on] = process.argv.slice(2);
if (target === undefined || (on !== 'express' && on !== 'http'))
  throw new Error('arguments must be the target URL, then express or http');

const agent = new Agent({ keepAlive: true, maxSockets: 256, maxFreeSockets: 64, scheduling: 'lifo', timeout: 60_000 });
const proxy = createProxyMiddleware({ target, agent });

if (on === 'express') listenAndTell(express().use(proxy));
else listenAndTell((request, response) => void proxy(request, response));
